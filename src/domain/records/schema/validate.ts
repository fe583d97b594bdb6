import type { z } from 'zod';
import { type FieldMessage, ServiceError } from '../../../platform/errors.ts';
import { type Accepts, acceptor } from './acceptor.ts';

type Issue = z.core.$ZodRawIssue;

/** Returns a message that says what to fix and never repeats the rejected value. */
function explain(issue: Issue): string {
  if (issue.input === undefined) return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${/^[aeiou]/.test(issue.expected) ? 'an' : 'a'} ${issue.expected}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_small':
      if (issue.exact) return `must be exactly ${issue.minimum} characters`;
      return issue.origin === 'string' ? 'must not be empty' : `must be at least ${issue.minimum}`;
    case 'too_big':
      if (issue.exact) return `must be exactly ${issue.maximum} characters`;
      return `must be at most ${issue.maximum}${issue.origin === 'string' ? ' characters' : ''}`;
    default:
      return 'is not valid';
  }
}

/** Returns the `validation_failed` error that names every field in `details`, and the first few in its text. */
export function validationError(details: FieldMessage[]): ServiceError {
  const named = details.slice(0, 5).map(({ field, message }) => (field ? `${field} ${message}` : message));
  const more = details.length > named.length ? `; and ${details.length - named.length} more` : '';
  return new ServiceError('validation_failed', `Validation failed: ${named.join('; ')}${more}`, { details });
}

const acceptors = new WeakMap<z.ZodType, Accepts>();

/**
 * Returns a function that accepts inputs in place of a schema; one that accepts nothing where only the schema itself
 * can judge.
 */
function acceptorOf(schema: z.ZodType): Accepts {
  let accepts = acceptors.get(schema);
  if (accepts === undefined) {
    accepts = acceptor(schema) ?? (() => false);
    acceptors.set(schema, accepts);
  }
  return accepts;
}

/**
 * Returns the input as parsed by the schema, which drops keys it does not know. Throws `validation_failed` with one
 * detail per bad field.
 */
export function validate<Schema extends z.ZodType>(schema: Schema, input: unknown): z.infer<Schema> {
  if (acceptorOf(schema)(input)) return input as z.infer<Schema>;
  const result = schema.safeParse(input, { error: explain });
  if (result.success) return result.data;
  const details = new Map<string, FieldMessage>();
  for (const { path, message } of result.error.issues) {
    const field = path.join('.');
    if (!details.has(field)) {
      details.set(field, { field, message: field === '' ? `The body ${message}` : message });
    }
  }
  throw validationError([...details.values()]);
}
