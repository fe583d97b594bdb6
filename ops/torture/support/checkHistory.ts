import { Agent } from 'node:http';
import type { RecordedEvent } from '../../../src/domain/events/event.ts';
import { digestOf } from './checkStores.ts';
import type { Ledger } from './Ledger.ts';
import { bodyOf, send } from './send.ts';

const PAGE = 1_000;

interface Told {
  versions: number;
  documents: number;
  failures: string[];
}

/** Reads the history of every stream of a ledger, and each document, over HTTP: they must match the log. */
export async function checkHistory(
  url: string,
  key: string,
  events: readonly RecordedEvent[],
  ledger: Ledger,
): Promise<Told> {
  const told: Told = { versions: 0, documents: 0, failures: [] };
  const agent = new Agent({ keepAlive: true });
  const get = (path: string) => send(url, agent, { path, headers: { 'x-api-key': key } });
  const byStream = Map.groupBy(events, ({ stream }) => stream);
  for (const [stream] of ledger.latest()) {
    const own = byStream.get(stream) ?? [];
    const last = own.at(-1);
    if (last === undefined) continue;
    const path = pathOf(last);
    const ids: string[] = [];
    for (let token: string | null = ''; token !== null; ) {
      const answer = await get(`${path}/history?limit=${PAGE}${token && `&page_token=${token}`}`);
      if (answer.status !== 200) {
        told.failures.push(`the history of ${stream} was answered with ${answer.status}`);
        break;
      }
      const page = bodyOf(answer);
      ids.push(...page.items.map(({ event_id }: { event_id: string }) => event_id));
      token = page.next_page_token;
    }
    told.versions += ids.length;
    if (ids.reverse().join() !== own.map(({ id }) => id).join())
      told.failures.push(`the history of ${stream} is not what the log holds`);
    if (last.type !== 'DocumentUploaded') continue;
    const document = await get(path);
    told.documents += 1;
    if (document.status !== 200 || digestOf(document.bytes) !== last.data.sha256)
      told.failures.push(`the bytes of ${stream} are not those that were uploaded`);
  }
  agent.destroy();
  return told;
}

const plurals: Record<string, string> = {
  PayerUpserted: 'payers',
  PatientUpserted: 'patients',
  EncounterUpserted: 'encounters',
  FacilityUpserted: 'facilities',
};

function pathOf({ type, data }: RecordedEvent): string {
  return type === 'DocumentUploaded'
    ? `/integration/encounters/${data.encounter_id}/documents/${data.document_id}`
    : `/integration/${plurals[type]}/${data.id}`;
}
