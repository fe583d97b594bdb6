import { messageAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import type { ProcessedMessage } from '../../modules/integrations/messages/store.ts';
import { isBefore, requireCorrectable } from '../../modules/integrations/replay/resend.ts';
import {
  correctWaiting,
  putMessageAside,
  resendWaiting,
  type WaitingPorts,
} from '../../modules/integrations/replay/waiting.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import { ServiceError } from '../../platform/errors.ts';
import { confirmedChange, formError, messageOf, textArea } from '../components/forms.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  messageEditors,
  messageWorkers,
  problemOf,
  type Refusal,
  type Reply,
  textOf,
  type Visit,
} from '../components/page.ts';
import { empty } from '../components/text.ts';
import { messagePath, messagesPath, messagesSection } from '../components/urls.ts';
import { findMessage, messageTitle, problems, records } from './message.ts';
import { editableText } from './messageContent.ts';
import { MOST_RESENT, stateBadge } from './messages.ts';
import { readNames } from './records/shared.ts';

/** `…/messages/{id}`: processing a message again, correcting it, and putting it aside. */
export function messageChangeRoutes(ports: WaitingPorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/messages/:message';
  return [
    {
      method: 'post',
      path: '/workspaces/:workspace/messages/resend',
      roles: messageWorkers,
      handle: (visit) => resendAll(ports, visit),
    },
    {
      method: 'post',
      path: `${path}/resend`,
      roles: messageWorkers,
      handle: (visit) => resend(ports, visit),
    },
    {
      method: 'get',
      path: `${path}/correct`,
      roles: messageEditors,
      query: [],
      handle: (visit) => edit(ports, visit),
    },
    {
      method: 'post',
      path: `${path}/correct`,
      roles: messageEditors,
      handle: (visit) => correct(ports, visit),
    },
    ...confirmedChange({
      path: `${path}/put-aside`,
      roles: messageWorkers,
      find: (visit) => findMessage(ports, visit),
      question: (message, _visit, details) => ({
        title: 'Put the message aside?',
        section: messagesSection,
        breadcrumb: messageCrumbs(message),
        text: 'It is no longer listed as waiting. It is kept as it arrived until it expires, and can still be processed or corrected.',
        fields: textArea({
          name: 'reason',
          label: 'Reason',
          rows: 3,
          hint: 'It is kept in the audit trail. Do not identify a person.',
          error: messageOf(details, 'reason'),
        }),
        button: 'Put aside',
        back: messagePath(message.workspace, message.id),
      }),
      async make({ id, workspace }, { caller, form, notice }) {
        await putMessageAside(ports, caller, id, textOf(form, 'reason'));
        notice('The message was put aside.');
        return { redirect: messagePath(workspace, id) };
      },
    }),
  ];
}

/** Returns the way to what is done with a message. */
function messageCrumbs(message: Message): Html {
  const { workspace, id } = message;
  return breadcrumb([
    { text: messagesSection, path: messagesPath(workspace) },
    { text: messageTitle(message), path: messagePath(workspace, id) },
  ]);
}

function workspaceOf({ directory }: WaitingPorts, { workspace }: Visit): Workspace {
  return directory.known.workspaces.get(workspace) as Workspace;
}

async function resend(ports: WaitingPorts, visit: Visit): Promise<Reply> {
  const message = await findMessage(ports, visit);
  const became = await resendWaiting(ports, visit.caller, workspaceOf(ports, visit), message);
  visit.notice(
    'skipped' in became
      ? `The message was not processed again. ${became.skipped}`
      : `The message was processed again: ${became.state}.`,
  );
  return { redirect: messagePath(visit.workspace, message.id) };
}

/** Processes the oldest waiting messages again. */
async function resendAll(ports: WaitingPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, notice } = visit;
  const waiting = await Array.fromAsync(ports.messages.rejected(workspace));
  const oldest = waiting.toSorted((one, other) => (isBefore(one, other) ? -1 : 1)).slice(0, MOST_RESENT);
  let accepted = 0;
  for (const message of oldest) {
    const became = await resendWaiting(ports, caller, workspaceOf(ports, visit), message);
    if (became.state === 'accepted') accepted += 1;
  }
  notice(`Processed again: ${oldest.length}. Accepted: ${accepted}.`);
  return { redirect: messagesPath(workspace, { rejected: 'yes' }) };
}

/** What is shown of an attempt to correct a message. */
interface Attempt {
  text: string;
  became?: ProcessedMessage;
  names?: RecordNames | undefined;
  refusal?: Refusal;
}

async function edit(ports: WaitingPorts, visit: Visit): Promise<Reply> {
  const message = await findMessage(ports, visit);
  requireCorrectable(message);
  await recordAccess(ports.eventLog, visit.caller, ...messageAccesses(message, true));
  const editable = await editableText(ports.messages, message);
  return editPage(visit, message, editable && { text: editable.text });
}

/** Processes the corrected message, or only shows what would become of it. */
async function correct(ports: WaitingPorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, form, notice } = visit;
  const message = await findMessage(ports, visit);
  const text = textOf(form, 'text');
  const isTrial = textOf(form, 'action') !== 'process';
  try {
    const bytes = (await editableText(ports.messages, message))?.toBytes(text);
    if (bytes === undefined)
      throw new ServiceError(
        'validation_failed',
        'The text has characters that are not in the character set of the message.',
      );
    const own = workspaceOf(ports, visit);
    const became = await correctWaiting(ports, caller, own, message.id, bytes, { isTrial });
    if (became.id === undefined) {
      const { names, accesses } = await readNames(ports, workspace, became.about);
      // The trial has the id of the request.
      for (const access of accesses) await recordFurtherAccess(ports.eventLog, caller, access);
      return editPage(visit, message, { text, became, names });
    }
    notice(`The corrected message was processed: ${became.state}.`);
    return { redirect: messagePath(workspace, became.id) };
  } catch (error) {
    const isMalformed = error instanceof ServiceError && error.code === 'malformed_body';
    const refused = isMalformed ? new ServiceError('validation_failed', error.message) : error;
    return editPage(visit, message, { text, refusal: problemOf(refused) });
  }
}

function editPage(visit: Visit, message: Message, attempt: Attempt | undefined): Reply {
  const { workspace, csrf } = visit;
  const path = messagePath(workspace, message.id);
  const body = html`${messageCrumbs(message)}
<h1>Correct a message</h1>
<p class="muted">The message stays as it arrived. The corrected one is a separate message, in the same place of the order.</p>
<h2>Problems</h2>
${problems(message)}
${
  attempt === undefined
    ? empty(
        html`The message is too long to edit here, or is not text. Download it, correct it, and process it with <code>chartledger messages correct ${message.id} --file FILE --workspace ${workspace}</code>`,
      )
    : html`<h2>Corrected message</h2>
${formError(attempt.refusal)}
<form method="post" action="/dashboard${path}/correct">${csrf}
${textArea({ name: 'text', label: 'Message', rows: 16, isMessage: true, value: attempt.text })}
<div class="actions"><button type="submit" name="action" value="check" class="outline">Dry run</button>
<button type="submit" name="action" value="process">Process corrected</button>
<a role="button" class="outline secondary" href="/dashboard${path}">Cancel</a></div>
</form>
${attempt.became && outcome(workspace, attempt.became, attempt.names)}`
}`;
  const status = attempt?.refusal?.status;
  return { page: { title: 'Correct a message', section: messagesSection, body, ...(status && { status }) } };
}

/** Returns what a dry run found. */
function outcome(workspace: string, became: ProcessedMessage, names: RecordNames | undefined): Html {
  return html`<h2>What would become of it</h2>
<p>${stateBadge(became.state)} Nothing was stored.</p>
${problems(became)}
${records(workspace, { ...became, records: became.about.length }, { names })}`;
}
