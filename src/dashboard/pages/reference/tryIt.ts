import { STATUS_CODES } from 'node:http';
import { type AppPorts, apiRoutes } from '../../../api/routes/index.ts';
import type { ServedEndpoint } from '../../../api/server/dispatch.ts';
import {
  callEndpoint,
  type InjectedRequest,
  type InMemoryResponse,
  injectedRequest,
} from '../../../api/server/inject.ts';
import { bodyBudgets, LoadShedder } from '../../../api/server/loadShedder.ts';
import type { Workspace } from '../../../modules/auth/apiKeys.ts';
import type { FoundKey, KeyDirectory } from '../../../modules/auth/keyDirectory.ts';
import type { Permission } from '../../../modules/auth/permissions.ts';
import { permissionsOf, type Role, roleIn, type User } from '../../../modules/auth/users.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { input, select } from '../../components/forms.ts';
import { type Html, html, textOf, type Visit, viewerPreferences } from '../../components/page.ts';
import { badge, code } from '../../components/text.ts';
import { operationPath } from '../../components/urls.ts';
import { NO_WORKSPACE, workspacesOf } from '../../http/visit.ts';
import { inline, type ParameterObject, type PlacedOperation, type Schema } from './outline.ts';
import { exampleRequest, filledPath } from './samples.ts';

/** Whether users of a role may try what requires one of these permissions. */
function mayTry(role: Role, needed: 'public' | 'key' | Permission | readonly Permission[]): boolean {
  if (needed === 'public' || needed === 'key') return true;
  return [needed].flat().some((permission) => permissionsOf[role].includes(permission));
}

/**
 * Returns what of a workspace is open to a user, in the form in which endpoints ask it of a key. There is no such
 * key: nobody can send it.
 */
function accessOf({ id, name }: User, role: Role, workspace: Workspace): FoundKey {
  return {
    key: {
      ...{ id, name, workspace: workspace.id, permissions: [...permissionsOf[role]] },
      ...{ sha256: '', state: 'active', createdAt: workspace.createdAt, createdBy: { type: 'user', id } },
      sender: id,
    },
    workspace,
  };
}

/** Headers that say something about the response. */
const shownHeaders = [
  'Request-Id',
  'Content-Type',
  'ETag',
  'Chartledger-Position',
  'Idempotent-Replayed',
  'Retry-After',
];

/** Returns the response of a tried operation: it is shown once, and kept nowhere. */
function triedAnswer(answer: InMemoryResponse): Html {
  const { statusCode: status, isCut } = answer;
  const headers = shownHeaders.flatMap((name) => {
    const value = answer.header(name);
    return value === undefined ? [] : html`<li>${name}: ${code(value)}</li>`;
  });
  return html`<section id="answer" aria-label="Response" tabindex="-1">
<h3>Response ${badge(`${status} ${STATUS_CODES[status] ?? ''}`, status < 400 ? 'good' : 'bad')}</h3>
<ul>${headers}</ul>
<pre tabindex="0"><code>${isCut ? answer.text : formatted(answer.text)}</code></pre>
${isCut && html`<p>The rest of the response is not shown.</p>`}
</section>`;
}

/** Returns JSON, or lines of it, formatted for people. */
function formatted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Operations that cannot be tried: files, whole exports, and those that have confirmation pages of their own. */
const untried = ['uploadDocument', 'downloadDocument', 'deleteDocument', 'readSnapshot', 'sendBatch'];

/** Whether an operation can be tried at all, whoever asks. */
function isTried({ method, operation: { operationId, tags } }: PlacedOperation): boolean {
  if (untried.includes(operationId)) return false;
  return method === 'get' ? !tags.includes('Service') : !tags.includes('Webhooks');
}

/** Returns the parameters that a form asks for: without waiting, as a page does not wait. */
function triedParameters({ operation }: PlacedOperation): ParameterObject[] {
  return (operation.parameters ?? []).filter(({ name }) => name !== 'wait');
}

/** Returns the name of a parameter's field in the form. */
function fieldName({ in: place, name }: ParameterObject): string {
  return `${place}-${name}`;
}

/** Returns the request that a form asks for; undefined where a part of the path is missing. */
function triedRequest(placed: PlacedOperation, form: Visit['form']): InjectedRequest | undefined {
  const valuesIn = (place: ParameterObject['in']) =>
    Object.fromEntries(
      triedParameters(placed)
        .filter((one) => one.in === place)
        .map((one) => [one.name, textOf(form, fieldName(one))] as const)
        .filter(([, value]) => value !== ''),
    );
  const [params, query] = [valuesIn('path'), valuesIn('query')];
  const names = [...placed.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  if (names.some((name) => params[name] === undefined)) return undefined;
  const search = new URLSearchParams(query).toString();
  const { type } = exampleRequest(placed);
  const headers = Object.entries(valuesIn('header')).map(([name, value]) => [name.toLowerCase(), value]);
  return {
    method: placed.method.toUpperCase(),
    url: `${filledPath(placed.path, params)}${search && `?${search}`}`,
    params,
    query,
    headers: {
      ...Object.fromEntries(headers),
      accept: 'application/json, application/x-ndjson;q=0.9',
      ...(type !== undefined && { 'content-type': type }),
    },
    body: type === undefined ? undefined : textOf(form, 'body'),
  };
}

/** The initial values of a form: little at once, and nothing is written. */
const beginnings: Record<string, string> = { limit: '20', dry_run: 'true' };

/** Returns the form that tries an operation in one of these workspaces; `sent` is what was sent last. */
function tryForm(
  placed: PlacedOperation,
  workspaces: readonly string[],
  { csrf, req }: Visit,
  sent: Visit['form'] | undefined,
): Html {
  const valueFor = (name: string, beginning: string) => (sent ? textOf(sent, name) : beginning);
  const { body } = exampleRequest(placed);
  return html`<form method="post" action="${operationPath(placed.operation.operationId)}#answer">
${csrf}
${select({
  ...{ name: 'workspace', label: 'Workspace', value: valueFor('workspace', req.session.workspace ?? '') },
  options: workspaces.map((value) => ({ value, text: value })),
})}
<div class="field-grid">${triedParameters(placed).map((one) => field(one, valueFor(fieldName(one), beginnings[one.name] ?? '')))}</div>
${body !== undefined && bodyField(valueFor('body', JSON.stringify(body, null, 2)))}
<div class="actions"><button type="submit">Send</button></div>
</form>`;
}

function field(parameter: ParameterObject, value: string): Html {
  const { name, in: place, required = false, schema, description } = parameter;
  const choices = choicesOf(schema);
  const common = {
    ...{ name: fieldName(parameter), label: place === 'path' ? name : `${name} (${place})`, value },
    hint: description && html`${inline(description)}`,
  };
  if (choices) {
    const options = choices.map((choice) => ({ value: choice, text: choice }));
    return select({ ...common, options: required ? options : [{ value: '', text: 'Not sent' }, ...options] });
  }
  return input({ ...common, isRequired: required, autocomplete: 'off' });
}

function choicesOf({ type, enum: values }: Schema): string[] | undefined {
  if (type === 'boolean') return ['true', 'false'];
  return values?.map(String);
}

function bodyField(value: string): Html {
  const typed = viewerPreferences().typed?.body;
  return html`<div class="field"><label for="body">Body</label>
<textarea id="body" name="body" rows="10" spellcheck="false" autocomplete="off">${typeof typed === 'string' ? typed : value}</textarea></div>`;
}

export interface TryItPorts extends AppPorts {
  directory: KeyDirectory;
  openapiPublic: boolean;
}

const NOT_TRIED = 'This operation cannot be tried here.';

/** Bytes of a response that are shown. */
const MOST_SHOWN = 40_000;

/** The result of a try: for the page, and for the log. */
interface Tried {
  answer: Html;
  error?: ServiceError | undefined;
}

/** Operations, tried by the users of the dashboard: the service itself calls them, as the user. */
export class TryIt {
  readonly #ports: TryItPorts;
  readonly #bodies = bodyBudgets();
  #endpoints: Map<string, ServedEndpoint> | undefined;

  constructor(ports: TryItPorts) {
    this.#ports = ports;
  }

  /** Returns the form of an operation, or why there is none. */
  part(placed: PlacedOperation, visit: Visit, sent?: Visit['form']): Html {
    const endpoint = this.#endpointOf(placed);
    if (!isTried(placed) || endpoint === undefined) return html`<p>${NOT_TRIED}</p>`;
    const own = workspacesOf(this.#ports.directory, visit.user).map(({ id }) => id);
    if (own.length === 0) return html`<p>No workspaces yet.</p>`;
    const workspaces = own.filter((id) => {
      const role = roleIn(visit.user, id);
      return role !== undefined && mayTry(role, endpoint.permission);
    });
    if (workspaces.length === 0) return html`<p>Your role cannot try this operation.</p>`;
    return html`<p>The request runs as you, not with an API key, and is recorded in the audit trail.</p>
${tryForm(placed, workspaces, visit, sent)}`;
  }

  /**
   * Carries out what a form asks for; what a role may not do is refused as it would be for a key. Rejects with
   * `permission_denied` for what nobody may try, with `not_found` for another workspace.
   */
  async carryOut(
    placed: PlacedOperation,
    { user, form, req, requestId, clientIp, actor }: Visit,
  ): Promise<Tried> {
    const endpoint = this.#endpointOf(placed);
    if (!isTried(placed) || endpoint === undefined) throw new ServiceError('permission_denied', NOT_TRIED);
    const workspace = this.#ports.directory.known.workspaces.get(textOf(form, 'workspace'));
    const role = workspace && roleIn(user, workspace.id);
    if (workspace === undefined || role === undefined) throw new ServiceError('not_found', NO_WORKSPACE);
    const { principal, requestId: _id, clientIp: _ip, ...client } = actor;
    const caller = { principal, requestId, clientIp, client, bodies: this.#bodies, load: new LoadShedder() };
    const request = triedRequest(placed, form);
    if (request === undefined) return { answer: html`<p class="banner">Fill in every part of the path.</p>` };
    const { answer, error } = await callEndpoint(
      this.#ports.eventLog,
      endpoint,
      { ...caller, allowed: accessOf(user, role, workspace), req: injectedRequest(request, req) },
      MOST_SHOWN,
    );
    return { answer: triedAnswer(answer), error };
  }

  #endpointOf({ method, path }: PlacedOperation): ServedEndpoint | undefined {
    this.#endpoints ??= new Map(
      apiRoutes(this.#ports, this.#ports.openapiPublic).map((one) => [
        `${one.method} ${one.endpoint.route}`,
        one.endpoint,
      ]),
    );
    return this.#endpoints.get(`${method} ${path.replace(/\{(\w+)\}/g, ':$1')}`);
  }
}
