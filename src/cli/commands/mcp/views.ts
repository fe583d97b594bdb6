import { createHmac, randomBytes } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { type FieldRules, showFields } from '../../../domain/records/schema/deidentification.ts';
import { CommandError } from '../../lib/terminal.ts';

/** A change of a field, as the history has it. */
export interface Change {
  field: string;
  from: unknown;
  to: unknown;
}

/** What an assistant is shown of the data that tools read. */
export interface View {
  readonly name: 'full' | 'deidentified';
  /** Returns what stands for an id of a kind. */
  id(kind: string, id: string): string;
  /** Returns the id that an assistant names. Throws `CommandError` for one that this connection was not shown. */
  named(kind: string, shown: string): string;
  /** Returns what is shown of a moment or day. */
  moment(time: string): string;
  /** Returns what is shown of a text from outside, or of something that identifies somebody; `null`: nothing. */
  private<Value>(value: Value): Value | null;
  /** Returns what is shown of the fields of a record that was written at a time. */
  fields(kind: string, fields: Record<string, unknown>, at: string): Record<string, unknown>;
  /** Returns what is shown of changes made at a time. */
  changes(kind: string, changes: readonly Change[], at: string): Change[];
}

const escaped = /\\u\{([0-9A-F]{1,6})\}/g;

/** Everything as it is. An id with escaped characters is read back as the tools show it. */
export const fullView: View = {
  name: 'full',
  id: (_kind, id) => id,
  named: (_kind, shown) =>
    shown.replace(escaped, (text, digits: string) => {
      const code = Number.parseInt(digits, 16);
      return code > 0x10ffff ? text : String.fromCodePoint(code);
    }),
  moment: (time) => time,
  private: (value) => value,
  fields: (_kind, fields) => fields,
  changes: (_kind, changes) => [...changes],
};

const HANDLE_LENGTH = 22;
/** Ids that a connection may name later. */
const MOST_HANDLES = 50_000;

function yearOf(time: string): string {
  return time.slice(0, 4);
}

/**
 * Shows what the Safe Harbor permits, by the rules of the de-identified event stream. Ids become handles, which only this connection
 * can resolve: they are HMACs under a key that is nowhere else.
 */
export class DeidentifiedView implements View {
  readonly name = 'deidentified';
  readonly #key = randomBytes(32);
  readonly #ids = new LRUCache<string, string>({ max: MOST_HANDLES });

  id(kind: string, id: string): string {
    const digest = createHmac('sha256', this.#key).update(`${kind}\0${id}`).digest('base64url');
    const handle = digest.slice(0, HANDLE_LENGTH);
    this.#ids.set(`${kind}/${handle}`, id);
    return handle;
  }

  named(kind: string, shown: string): string {
    const id = this.#ids.get(`${kind}/${shown}`);
    if (id !== undefined) return id;
    throw new CommandError(
      `No answer of this connection has this ${kind}. The data is de-identified: use an id from an answer.`,
    );
  }

  moment(time: string): string {
    return yearOf(time);
  }

  private(): null {
    return null;
  }

  fields(kind: string, fields: Record<string, unknown>, at: string): Record<string, unknown> {
    const { deidentified } = catalogEntry(kind);
    return this.#shown(deidentified, fields, at);
  }

  changes(kind: string, changes: readonly Change[], at: string): Change[] {
    const { deidentified } = catalogEntry(kind);
    return changes.map(({ field, from, to }) => {
      const [outer = '', inner] = field.split('.');
      const rule = deidentified[outer];
      const rules = inner === undefined || rule === 'left out' ? deidentified : (rule?.fields ?? {});
      const shown = (value: unknown) => {
        const name = inner ?? outer;
        return this.#shown(rules, { [name]: value }, at)[name] ?? null;
      };
      return { field, from: shown(from), to: shown(to) };
    });
  }

  #shown(rules: FieldRules, fields: Record<string, unknown>, at: string): Record<string, unknown> {
    return showFields(rules, fields, {
      year: Number(yearOf(at)),
      zipAreas: new Set(),
      shiftDays: undefined,
      pseudonym: (kind, id) => this.id(kind, id),
    });
  }
}
