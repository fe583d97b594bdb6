import { validationError } from '../../domain/records/schema/validate.ts';
import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { configureSource } from '../../modules/integrations/configureSource.ts';
import { readSources } from '../../modules/integrations/readSources.ts';
import { removeSource } from '../../modules/integrations/removeSource.ts';
import type { Source, SourceInput } from '../../modules/integrations/source.ts';
import { confirmedChange } from '../components/confirmation.ts';
import { formError, input, messageOf } from '../components/formFields.ts';
import { html } from '../components/html.ts';
import { type DashboardRoute, integrators, type Page, type Reply, type Visit } from '../components/route.ts';
import { type Refusal, refusalOf } from '../components/sentForm.ts';
import { sourcePath, sourcesPath, sourcesSection } from '../components/sourcePaths.ts';
import { code } from '../components/text.ts';
import { findSource } from './findSource.ts';
import { type SourceTexts, sourceFields, sourceSent, sourceTexts, sourceTextsSent } from './sourceFields.ts';
import type { SourcePagePorts } from './sources.ts';

/** The forms for a new source and for changing one, and the page that asks whether to remove one. */
export function sourceFormRoutes(ports: SourcePagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/sources';
  return [
    {
      method: 'get',
      path: `${path}/new`,
      roles: integrators,
      handle: async (visit) => ({ page: newPage(ports, visit, {}) }),
    },
    {
      method: 'post',
      path: `${path}/new`,
      roles: integrators,
      handle: (visit) => configureNew(ports, visit),
    },
    {
      method: 'get',
      path: `${path}/:source/edit`,
      roles: integrators,
      async handle(visit) {
        const source = await findSource(ports.eventLog, visit);
        return { page: editPage(ports, visit, source, sourceTexts(source)) };
      },
    },
    {
      method: 'post',
      path: `${path}/:source/edit`,
      roles: integrators,
      handle: (visit) => change(ports, visit),
    },
    ...removal(ports),
  ];
}

async function configureNew(ports: SourcePagePorts, visit: Visit): Promise<Reply> {
  const texts = sourceTextsSent(visit.form);
  try {
    const sources = await readSources(ports.eventLog, visit.workspace);
    if (sources.some(({ id }) => id === texts.id)) {
      throw validationError([{ field: 'id', message: 'is used by another source' }]);
    }
    return await configured(ports, visit, sourceSent(texts));
  } catch (error) {
    return { page: newPage(ports, visit, texts, refusalOf(error)) };
  }
}

async function change(ports: SourcePagePorts, visit: Visit): Promise<Reply> {
  const source = await findSource(ports.eventLog, visit);
  const texts = { ...sourceTextsSent(visit.form), id: source.id };
  try {
    return await configured(ports, visit, sourceSent(texts, source));
  } catch (error) {
    return { page: editPage(ports, visit, source, texts, refusalOf(error)) };
  }
}

async function configured(
  ports: SourcePagePorts,
  { caller, workspace, notice }: Visit,
  sent: SourceInput,
): Promise<Reply> {
  await ports.directory.refresh();
  const { id } = await configureSource(ports, caller, sent);
  notice(`Source ${id} was saved. It applies to new messages.`);
  return { redirect: sourcesPath(workspace) };
}

function newPage(ports: SourcePagePorts, visit: Visit, texts: SourceTexts, refusal?: Refusal): Page {
  const id = input({
    ...{ name: 'id', label: 'ID', value: texts.id, isRequired: true, autocomplete: 'off' },
    hint: '1 to 64 characters: a to z, 0 to 9, _ and -.',
    error: messageOf(refusal?.details, 'id'),
  });
  const action = `${sourcesPath(visit.workspace)}/new`;
  return formPage(ports, visit, { title: 'Configure a source', action, texts, refusal, first: id });
}

function editPage(
  ports: SourcePagePorts,
  visit: Visit,
  { id }: Source,
  texts: SourceTexts,
  refusal?: Refusal,
): Page {
  const action = sourcePath(visit.workspace, id, 'edit');
  return formPage(ports, visit, { title: `Edit source ${id}`, action, texts, refusal });
}

interface SourceForm {
  title: string;
  /** Below `/dashboard`. */
  action: string;
  texts: SourceTexts;
  refusal: Refusal | undefined;
  /** What it asks for before everything else. */
  first?: ReturnType<typeof input>;
}

function formPage(
  { directory }: SourcePagePorts,
  { workspace, csrf }: Visit,
  { title, action, texts, refusal, first }: SourceForm,
): Page {
  return {
    title,
    section: sourcesSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>${title}</h1>
<p>Changes apply to new messages. Existing records stay as they are.</p>
${formError(refusal?.text)}
<form method="post" action="/dashboard${action}">${csrf}
${first}
${sourceFields(texts, keysOf(directory, workspace, texts.key), refusal?.details)}
<div class="actions"><button type="submit">Save source</button>
<a role="button" class="outline secondary" href="/dashboard${sourcesPath(workspace)}">Cancel</a></div>
</form>`,
  };
}

/** Returns the keys that a source may have, and the one that it has. */
function keysOf({ known }: KeyDirectory, workspace: string, chosen: string | undefined) {
  return [...known.keys.values()]
    .filter((key) => key.workspace === workspace && (key.state !== 'deleted' || key.id === chosen))
    .map(({ id, name, state }) => ({ value: id, text: `${name} (${state === 'deleted' ? state : id})` }));
}

function removal({ eventLog }: SourcePagePorts): DashboardRoute[] {
  return confirmedChange<Source>({
    roles: integrators,
    path: '/workspaces/:workspace/sources/:source/remove',
    find: (visit) => findSource(eventLog, visit),
    question: ({ id }, { workspace }) => ({
      title: `Remove the source ${id}?`,
      section: sourcesSection,
      text: html`${code(id)}. New messages from its EMR are read by the default source of its format. Everything it has sent is kept.`,
      button: 'Remove source',
      isDangerous: true,
      back: sourcesPath(workspace),
    }),
    async make({ id }, { caller, workspace, notice }) {
      await removeSource(eventLog, caller, id);
      notice(`Source ${id} was removed.`);
      return { redirect: sourcesPath(workspace) };
    },
  });
}
