import type { RecordFields } from './catalog.ts';
import { changedFields } from './diff.ts';
import { mergeFields, type RecordState } from './fold.ts';

/** What can become of a record by a write. */
export const outcomes = ['created', 'updated', 'unchanged'] as const;
export type Outcome = (typeof outcomes)[number];

/** What sent fields make of a record. */
export interface Judgement {
  outcome: Outcome;
  /** Names of the fields whose value changes; those of an insurance are dotted. */
  changedFields: string[];
  /** The record's behind the write, merged and without defaults. */
  fields: RecordFields;
}

const noFields = {} as RecordFields;

/** What sent fields make of a record, as `changed` of the event stream would tell it; `state` is undefined where there is none. */
export function judgeChange(state: RecordState | undefined, sent: RecordFields): Judgement {
  const fields = mergeFields(state?.fields ?? noFields, sent);
  const changed = changedFields(state?.fields, fields);
  const updated = changed.length === 0 ? 'unchanged' : 'updated';
  return { outcome: state === undefined ? 'created' : updated, changedFields: changed, fields };
}
