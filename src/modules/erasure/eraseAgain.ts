import {
  documentIdsOf,
  kindOfStream,
  recordIdOf,
  workspaceOfStream,
} from '../../domain/events/streamNames.ts';
import { ServiceError } from '../../platform/errors.ts';
import { appendTombstones, type Erasure } from './appendTombstones.ts';
import type { NoticedErasure } from './erasureNotice.ts';
import { type RemovalPorts, removeErased } from './removeErased.ts';

/** An erasure that is missing from a copy of the log, and the stream that it concerned. */
export interface UnknownErasure extends NoticedErasure {
  stream: string;
}

/**
 * Carries out erasures that a restored log lacks, on behalf of those who requested them, and purges their bytes from the stores'
 * files, except for those of an event log whose server scavenges. Events added to a stream after its erasure stay. Returns the
 * number of erased streams. Can be repeated. Rejects with `unreadable`, and with `unavailable`.
 */
export async function eraseAgain(ports: RemovalPorts, erasures: readonly UnknownErasure[]): Promise<number> {
  let count = 0;
  for (const erasure of erasures) if (await eraseOne(ports, erasure)) count += 1;
  if (count === 0) return 0;
  await ports.stateStore.purge();
  await ports.eventLog.purge();
  return count;
}

async function eraseOne(
  ports: RemovalPorts,
  { stream, tombstone, erasure_id, principal, erased_at }: UnknownErasure,
): Promise<boolean> {
  const [first] = await ports.eventLog.readStream(stream, { limit: 1 });
  if (first === undefined || first.position > tombstone) return false;
  const caller = { workspace: workspaceOfStream(stream), principal, requestId: erasure_id };
  const reason = `It was erased before, at ${erased_at}, and was in an older backup that was restored.`;
  try {
    const erasure = { ...erasedBy(stream), reason };
    await removeErased(ports, await appendTombstones(ports.eventLog, caller, stream, 'Record', erasure));
    return true;
  } catch (error) {
    // The backup holds an earlier erasure of the stream, and nothing since.
    if (error instanceof ServiceError && error.code === 'gone') return false;
    throw error;
  }
}

/** What a tombstone says about the contents of a stream. */
function erasedBy(stream: string): Omit<Erasure, 'reason'> {
  const kind = kindOfStream(stream);
  if (kind !== 'document') return { kind, record_id: recordIdOf(stream) };
  const { encounterId, documentId } = documentIdsOf(stream);
  return { kind, record_id: encounterId, document_id: documentId };
}
