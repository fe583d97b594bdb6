import { type Actor, newActorEvent } from '../events/newEvent.ts';
import { codeSetStream, INSTALLATION } from '../events/streamNames.ts';
import { appendBehind } from '../ports/appendBehind.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { CODE_SET_LOADED, type CodeSetLoaded, readTaxonomySets, TAXONOMY } from './taxonomySet.ts';

/**
 * From now on the rule `taxonomy_code` holds codes of every workspace against these, each given once; `release` is what their
 * publisher calls them. No change when they are loaded already. Rejects with `unreadable` and `unavailable`.
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
    // Where another set was loaded meanwhile it is decided again.
    if (await appendBehind(eventLog, codeSetStream(TAXONOMY), event, last?.event.revision ?? -1)) return;
  }
}
