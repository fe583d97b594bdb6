import type { z } from 'zod';
import { isJsonObject } from '../../domain/events/event.ts';

/** Returns the statement of a type in a JSON text, or which of its fields is invalid; undefined when the text is something else. */
export function parseStatement<Statement>(
  text: string,
  type: RegExp,
  schema: z.ZodType<Statement>,
): { statement: Statement } | { problem: string } | undefined {
  const value = parseJson(text);
  if (!isJsonObject(value) || typeof value.type !== 'string' || !type.test(value.type)) return undefined;
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { statement: data };
  const [issue] = error.issues;
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys : [];
  const field = [...(issue?.path ?? []), ...unknown.slice(0, 1)].join('.');
  return { problem: `${field} does not have the form that this version of Chartledger uses` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
