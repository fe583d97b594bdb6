import { type Actor, newActorEvent } from '../../domain/events/newEvent.ts';
import { codeSetStream, INSTALLATION } from '../../domain/events/streams.ts';
import { appendBehind, type EventLog } from '../../storage/eventLog.ts';
import { CODE_SET_LOADED, type CodeSetLoaded, readTaxonomySets, TAXONOMY } from './rules/rule.ts';

/**
 * Loads the codes, each given once, against which the rule `taxonomy_code` checks those of every workspace from now
 * on; `release` is what their publisher calls them. Appends nothing when they are loaded already. Rejects with
 * `unreadable` and `unavailable`.
 */
export async function loadTaxonomySet(
  eventLog: EventLog,
  actor: Actor,
  codes: readonly string[],
  release: string | undefined,
): Promise<void> {
  const data: CodeSetLoaded = {
    ...{ set: TAXONOMY, codes: codes.toSorted() },
    ...(release !== undefined && { release }),
  };
  for (;;) {
    const last = (await readTaxonomySets(eventLog)).at(-1);
    const isSame =
      last?.release === release &&
      last?.codes.size === codes.length &&
      codes.every((code) => last.codes.has(code));
    if (isSame) return;
    const event = newActorEvent(actor, INSTALLATION, CODE_SET_LOADED, { ...data });
    // Where another set was loaded meanwhile, this is decided again.
    if (await appendBehind(eventLog, codeSetStream(TAXONOMY), event, last?.event.revision ?? -1)) return;
  }
}
