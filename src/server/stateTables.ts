import { noticesTable } from '../modules/erasure/ErasureNotices.ts';
import { keptRequests } from '../modules/idempotency/keptRequests.ts';
import {
  messageClaimsTable,
  messageLinksTable,
  messagesTable,
} from '../modules/integrations/messages/message.ts';
import { sentHeadsTable } from '../modules/integrity/sentHeads.ts';
import { attemptsTable } from '../modules/webhooks/attempts.ts';
import { deliveryTable } from '../modules/webhooks/deliveryTable.ts';
import type { StateTable } from '../storage/stateStore.ts';

/** The tables of the state store that are backed up. */
export const backedUpTables: readonly StateTable<object>[] = [
  deliveryTable,
  attemptsTable,
  messagesTable,
  messageLinksTable,
  messageClaimsTable,
  keptRequests,
  sentHeadsTable,
  noticesTable,
];

/** Those that are not, and what happens to a service that finds them empty. */
export const leftOutTables: Readonly<Record<string, string>> = {
  sessions_v1: 'people sign in again; a session that has ended since must not come back',
  heads_status_v1: 'it is written with the next head',
  erasures_v1: 'every erasure is looked at again, and completed where it is not',
  purges_v1: 'the files are purged again after the next erasure',
  scavenges_v1: 'scavenges are requested again, with the command that erases',
  document_purge_v1: 'what was replaced or removed is looked at again, and purged where it is due',
  document_purge_held_v1: 'as with the place of the purge',
  last_backup_v1: 'it is written with the next backup',
  verifications_v1: 'it is verified again',
  scorecards_v1: 'it is analysed again',
  simulations_v1: 'it is analysed again',
};
