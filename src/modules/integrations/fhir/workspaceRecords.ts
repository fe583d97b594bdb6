import { recordStream } from '../../../domain/events/streamNames.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { currentState, type QueryPorts } from '../../records/queries/readRecord.ts';
import { searchRecords } from '../../records/queries/searchRecords.ts';
import type { FhirRecords } from './FhirRecords.ts';

/** Maximum number of records with one number that are looked at: more than one is already too many. */
const MOST = 20;

/** Returns the records of a workspace, including every write acknowledged before a call. */
export function workspaceRecords(ports: QueryPorts, workspace: string): FhirRecords {
  const current: FhirRecords['current'] = async (kind, id) => {
    const state = await currentState(ports, kind, recordStream(workspace, kind, id));
    return state === undefined || state.erased ? undefined : { version: state.version, fields: state.fields };
  };
  return {
    current,
    async havingNumber(kind, field, value) {
      const request = { text: value, kinds: [kind], limit: MOST, pageToken: undefined };
      const { items } = await searchRecords(ports, workspace, request).catch((error) => {
        // A value that no search can be for does not exist anywhere.
        if (error instanceof ServiceError && error.code === 'validation_failed') return { items: [] };
        throw error;
      });
      const records = await Promise.all(
        items.map(async ({ id }) => ({ id, found: await current(kind, id) })),
      );
      return records.flatMap(({ id, found }) => (found?.fields[field] === value ? [id] : []));
    },
  };
}
