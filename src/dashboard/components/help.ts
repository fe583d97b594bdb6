import { type Help, type Html, html, type Page } from './page.ts';
import { docPath } from './urls.ts';

/** Every page by its route: one line of help, and the document and heading that have more. */
export const pageHelp: Readonly<Record<string, Help>> = {
  '/sign-in': ['Too many attempts? An administrator can unlock your name.', 'guides/dashboard', 'sign-in'],
  '/sign-in/code': ['Lost the app and the codes? Ask an administrator.', 'guides/dashboard', 'sign-in'],
  '/setup': ['The link works once, within 24 hours.', 'guides/dashboard', 'add-people'],
  '/invitation': ['The link works once, within 48 hours.', 'guides/dashboard', 'add-people'],
  '/account': ['Times are in UTC until you choose a time zone.', 'guides/dashboard', 'times'],
  '/account/two-factor': ['Any authenticator app works (TOTP).', 'guides/dashboard', 'sign-in'],
  '/users': ['A role is for one workspace, or for all.', 'guides/dashboard', 'add-people'],
  '/users/new': ['What each role sees and does.', 'guides/dashboard', 'add-people'],
  '/users/:user': ['What each role sees and does.', 'guides/dashboard', 'add-people'],
  '/users/:user/reset-two-factor': [
    'For a user who lost the app and the codes.',
    'guides/dashboard',
    'sign-in',
  ],
  '/users/:user/disable': [
    'Sessions end immediately; the user can be enabled again.',
    'guides/dashboard',
    'add-people',
  ],
  '/overview': ['Bars and figures lead to what they count.', 'guides/dashboard', 'overview'],
  '/system': ['A read model that lags shows old values, and loses none.', 'concepts/reads-see-writes'],
  '/reference': ['The operations, errors and messages of this service.', 'guides/dashboard', 'api-reference'],
  '/reference/operations/:operation': [
    '“Try it” sends a request as you.',
    'guides/dashboard',
    'api-reference',
  ],
  '/reference/messages': [
    'Messages are signed: check them before use.',
    'guides/webhooks',
    'receive-messages',
  ],
  '/reference/errors': ['What to do about each error.', 'reference/errors'],
  '/reference/schemas/:schema': ['What each field of a record means.', 'reference/records'],
  '/docs/:doc': ['The documentation of the version that runs here.', 'README'],
  '/docs/:folder/:doc': ['The documentation of the version that runs here.', 'README'],
  '/audit': ['Every sign-in, and every change of a user.', 'reference/audit-actions'],
  '/workspaces': ['A workspace is a clinic, a customer or a test.', 'concepts/workspaces-and-keys'],
  '/workspaces/:workspace': ['Bars and figures lead to what they count.', 'guides/dashboard', 'overview'],
  '/workspaces/:workspace/settings': [
    'For administrators of all workspaces.',
    'guides/dashboard',
    'settings-of-a-workspace',
  ],
  '/workspaces/:workspace/reason': [
    'A workspace can require a reason for each read.',
    'guides/answer-an-auditor',
    'who-ran-a-command-and-why',
  ],
  '/workspaces/:workspace/deactivate': [
    'Records and history stay; nothing comes in or goes out.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/activate': [
    'Keys are accepted and webhooks send again.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/search': [
    'Parts of names, dates of birth, ids and numbers are found.',
    'guides/read-for-billing',
    'find-a-record',
  ],
  '/workspaces/:workspace/records': ['Search by a name, or filter a list.', 'guides/dashboard', 'records'],
  '/workspaces/:workspace/records/:kind/:id': [
    'A field’s name leads to its history.',
    'guides/dashboard',
    'records',
  ],
  '/workspaces/:workspace/records/:kind/:id/compare': [
    'Any two versions, field by field.',
    'guides/answer-an-auditor',
    'who-changed-it',
  ],
  '/workspaces/:workspace/records/:kind/:id/copy': [
    'For the patient: to read, in FHIR, and signed.',
    'guides/give-a-patient-a-copy',
    'what-is-in-it',
  ],
  '/workspaces/:workspace/records/:kind/:id/fields/:field': [
    'Only versions that changed this field.',
    'guides/answer-an-auditor',
    'who-changed-it',
  ],
  '/workspaces/:workspace/records/:kind/:id/timeline': [
    'Narrow the changes, then export or print what is shown.',
    'guides/answer-an-auditor',
    'who-changed-it',
  ],
  '/workspaces/:workspace/records/:kind/:id/timeline/print': [
    'Print it, or save it as PDF, from the browser.',
    'guides/answer-an-auditor',
    'who-changed-it',
  ],
  '/workspaces/:workspace/records/:kind/:id/print': [
    'Print it, or save it as PDF, from the browser.',
    'guides/answer-an-auditor',
    'what-did-the-record-say',
  ],
  '/workspaces/:workspace/records/:kind/:id/erase': [
    'An erasure cannot be undone.',
    'guides/erase-a-patient',
    'what-goes-and-what-stays',
  ],
  '/workspaces/:workspace/records/:kind/:id/hold': [
    'A held record can change, but not be erased.',
    'guides/legal-holds',
  ],
  '/workspaces/:workspace/records/encounters/:id/documents': [
    'Removed documents are listed as well.',
    'guides/send-from-an-emr',
    'documents',
  ],
  '/workspaces/:workspace/records/encounters/:id/documents/:documentId': [
    'Each download is in the audit trail.',
    'guides/send-from-an-emr',
    'documents',
  ],
  '/workspaces/:workspace/records/encounters/:id/readiness/answer': [
    'An answer ends when the record at fault changes.',
    'guides/check-readiness',
    'answer-findings',
  ],
  '/workspaces/:workspace/records/encounters/:id/billed/acknowledge': [
    'For changes that need no new claim.',
    'guides/check-readiness',
    'say-what-was-billed',
  ],
  '/workspaces/:workspace/records/patients/:id/encounters': [
    'Coverages and dates of service on one line.',
    'guides/dashboard',
    'records',
  ],
  '/workspaces/:workspace/records/patients/:id/documents': [
    'Of all encounters, removed ones included.',
    'guides/send-from-an-emr',
    'documents',
  ],
  '/workspaces/:workspace/records/patients/:id/disclosures': [
    'Who saw the data, or to whom it went and why.',
    'guides/account-for-disclosures',
    'what-they-contain',
  ],
  '/workspaces/:workspace/records/patients/:id/disclosures/print': [
    'Print it, or save it as PDF, from the browser.',
    'guides/account-for-disclosures',
    'make-the-reports',
  ],
  '/workspaces/:workspace/records/patients/:id/disclosures/add': [
    'For what went out by telephone, fax, mail or paper.',
    'guides/account-for-disclosures',
    'add-what-the-service-did-not-disclose',
  ],
  '/workspaces/:workspace/records/patients/:id/disclosures/:event/purpose': [
    'The last purpose that was stated counts.',
    'guides/account-for-disclosures',
    'state-a-purpose-later',
  ],
  '/workspaces/:workspace/readiness': [
    'Each figure leads to the encounters that it counts.',
    'guides/check-readiness',
    'on-the-dashboard',
  ],
  '/workspaces/:workspace/readiness/simulation': [
    'Nothing changes until the settings are applied.',
    'guides/check-readiness',
    'try-settings-before-they-take-effect',
  ],
  '/workspaces/:workspace/readiness/scorecard': [
    'By whose writes the defects came in.',
    'guides/check-readiness',
    'find-the-source-of-defects',
  ],
  '/workspaces/:workspace/changes': [
    'Values from before and after, and who changed them since.',
    'guides/answer-an-auditor',
    'what-did-this-key-change',
  ],
  '/workspaces/:workspace/changes/diff': [
    'Changes that were changed back are no difference.',
    'guides/what-was-different',
    'what-counts-as-a-difference',
  ],
  '/workspaces/:workspace/changes/undo': [
    'What others wrote since stays.',
    'guides/undo-a-sync',
    '3-look-at-the-plan',
  ],
  '/workspaces/:workspace/holds': ['Nothing that is held can be erased.', 'guides/legal-holds'],
  '/workspaces/:workspace/holds/new': ['The reason is kept: name nobody in it.', 'guides/legal-holds'],
  '/workspaces/:workspace/holds/:hold/release': ['Other holds stay in force.', 'guides/legal-holds'],
  '/workspaces/:workspace/returned': [
    'Erased records that an EMR sent again.',
    'guides/erase-a-patient',
    'records-that-are-sent-again',
  ],
  '/workspaces/:workspace/returned/:kind/:id/allow': [
    'The EMR has to send the record again.',
    'guides/erase-a-patient',
    'records-that-are-sent-again',
  ],
  '/workspaces/:workspace/returned/:kind/:id/refuse': [
    'Remove the record in the EMR to end the repeats.',
    'guides/erase-a-patient',
    'records-that-are-sent-again',
  ],
  '/workspaces/:workspace/events': [
    'What subscribers receive, newest first.',
    'guides/consume-the-stream',
    'an-event',
  ],
  '/workspaces/:workspace/notifications': ['They contain no patient data.', 'guides/notifications'],
  '/workspaces/:workspace/messages': [
    'Most messages wait for something that arrives later.',
    'guides/messages',
    'resend-messages-that-were-not-accepted',
  ],
  '/workspaces/:workspace/messages/:message': [
    'Showing the message is in the audit trail.',
    'guides/messages',
    'on-the-dashboard',
  ],
  '/workspaces/:workspace/messages/:message/correct': [
    'The message as received is kept.',
    'guides/messages',
    'correct-a-message',
  ],
  '/workspaces/:workspace/messages/:message/put-aside': [
    'It can still be corrected or resent.',
    'guides/messages',
    'put-a-message-aside',
  ],
  '/workspaces/:workspace/requests': [
    'Equal refusals are in one row.',
    'guides/find-out-why-a-request-was-refused',
    'on-the-dashboard',
  ],
  '/workspaces/:workspace/requests/:id': [
    'Nothing of a refused request was stored.',
    'guides/find-out-why-a-request-was-refused',
    'on-the-dashboard',
  ],
  '/workspaces/:workspace/audit': [
    'Who saw or changed what; a row opens.',
    'guides/answer-an-auditor',
    'who-has-seen-it',
  ],
  '/workspaces/:workspace/audit/report': [
    'Unusual is not wrong: judge each row.',
    'guides/answer-an-auditor',
    'access-out-of-the-ordinary',
  ],
  '/workspaces/:workspace/evidence': [
    'What proves that nobody altered the history.',
    'guides/answer-an-auditor',
    'prove-that-nobody-altered-it',
  ],
  '/workspaces/:workspace/keys': [
    'Give a key no more than its system needs.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/keys/:id': [
    'What a key does cannot be widened: create another one.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/keys/new': ['What each permission allows.', 'concepts/workspaces-and-keys'],
  '/workspaces/:workspace/keys/:id/recipient': [
    'For reports of disclosures, from now on.',
    'guides/account-for-disclosures',
    'say-who-receives-data-and-why',
  ],
  '/workspaces/:workspace/keys/:id/limits': [
    'What a request beyond a limit gets.',
    'concepts/workspaces-and-keys',
    'what-narrows-a-key',
  ],
  '/workspaces/:workspace/keys/:id/public-keys': [
    'For access tokens instead of the key.',
    'guides/fhir',
    'access-tokens',
  ],
  '/workspaces/:workspace/keys/:id/rotate': [
    'Both keys are accepted until the old one ends.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/keys/:id/deactivate': [
    'Requests get 403 until the key is activated.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/keys/:id/activate': [
    'Requests are accepted again.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/keys/:id/delete': [
    'Requests get 401, for good.',
    'operate/keys-and-secrets',
    'api-keys',
  ],
  '/workspaces/:workspace/sources': ['How the messages of each EMR are read.', 'guides/sources'],
  '/workspaces/:workspace/sources/new': [
    'The only EMR of a workspace needs no API key here.',
    'guides/sources',
  ],
  '/workspaces/:workspace/sources/:source/edit': ['Records that exist stay as they are.', 'guides/mappings'],
  '/workspaces/:workspace/sources/:source/remove': ['What it sent stays.', 'guides/sources'],
  '/workspaces/:workspace/webhooks': [
    'Messages wait and are tried again for days.',
    'guides/webhooks',
    'delivery',
  ],
  '/workspaces/:workspace/webhooks/new': [
    'Only https, and only public addresses.',
    'guides/webhooks',
    'create-a-webhook',
  ],
  '/workspaces/:workspace/webhooks/:id': [
    'Ten attempts in three days, then a message has failed.',
    'guides/webhooks',
    'delivery',
  ],
  '/workspaces/:workspace/webhooks/:id/edit': [
    'Waiting messages are sent after a change.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/ping': [
    'A test without an event.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/retry': [
    'For instance after an outage.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/replay': [
    'Messages keep their id, so receivers know repeats.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/secret': [
    'Messages have both signatures during the overlap.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/disable': [
    'It continues where it stopped once enabled.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/enable': [
    'It continues where it stopped.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/webhooks/:id/delete': [
    'Its attempts go with it.',
    'guides/webhooks',
    'change-pause-and-send-again',
  ],
  '/workspaces/:workspace/consumers/:consumer/remove': [
    'It can read on, from the beginning.',
    'guides/consume-the-stream',
    'name-yourself',
  ],
};

/** Returns the line of help of a page, by its route; of the dashboard where a page has none of its own. */
export function helpLine(route: string, { help }: Pick<Page, 'help'>): Html {
  const [line, document, heading] = help ?? pageHelp[route] ?? ['What each page is for.', 'guides/dashboard'];
  return html`<div class="help no-print"><span id="help">${line}</span> <a href="${docPath(document, heading)}" aria-describedby="help">Learn more</a></div>`;
}
