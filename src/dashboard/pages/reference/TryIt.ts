import { type AppPorts, apiRoutes } from '../../../api/routes/index.ts';
import { bodyBudgets } from '../../../api/server/BodyBudget.ts';
import { callEndpoint } from '../../../api/server/callEndpoint.ts';
import { heldRequest } from '../../../api/server/heldRequest.ts';
import { RequestLoad } from '../../../api/server/RequestLoad.ts';
import type { ServedEndpoint } from '../../../api/server/serveEndpoint.ts';
import type { KeyDirectory } from '../../../modules/auth/KeyDirectory.ts';
import { roleIn } from '../../../modules/auth/user.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { type Html, html } from '../../components/html.ts';
import type { Visit } from '../../components/route.ts';
import { textOf } from '../../components/sentForm.ts';
import { NO_WORKSPACE } from '../../http/requireRole.ts';
import { workspacesOf } from '../../http/visit.ts';
import type { PlacedOperation } from './document.ts';
import { accessOf, mayTry } from './roleAccess.ts';
import { triedAnswer } from './triedAnswer.ts';
import { isTried, triedRequest } from './triedRequest.ts';
import { tryForm } from './tryForm.ts';

export interface TryItPorts extends AppPorts {
  directory: KeyDirectory;
  openapiPublic: boolean;
}

const NOT_TRIED = 'This operation cannot be tried here.';

/** Bytes of a response that are shown. */
const MOST_SHOWN = 40_000;

/** The result of a try: for the page, and for the log. */
export interface Tried {
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
    const { principal, requestId: _id, clientIp: _ip, ...told } = actor;
    const caller = { principal, requestId, clientIp, told, bodies: this.#bodies, load: new RequestLoad() };
    const request = triedRequest(placed, form);
    if (request === undefined) return { answer: html`<p class="banner">Fill in every part of the path.</p>` };
    const { answer, error } = await callEndpoint(
      this.#ports.eventLog,
      endpoint,
      { ...caller, allowed: accessOf(user, role, workspace), req: heldRequest(request, req) },
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
