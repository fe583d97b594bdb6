import { statusOf } from '../../api/server/errorAnswer.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import type { Visit } from './route.ts';

type Form = Visit['form'];

/** Returns the value of a field that was sent, trimmed; empty when there is none. */
export function textOf(form: Form, name: string): string {
  return (valuesOf(form, name)[0] ?? '').trim();
}

/** Returns a password that was sent: exactly as typed. */
export function passwordOf(form: Form, name: string): string {
  return valuesOf(form, name)[0] ?? '';
}

/** Returns all values of a name, as sent by check boxes. */
export function valuesOf(form: Form, name: string): string[] {
  return [form[name] ?? []].flat();
}

/** Why a form was not accepted, to be shown with it. */
export interface Refusal {
  status: number;
  text: string;
  details: readonly FieldMessage[];
}

/** Returns the refusal of what somebody sent; rethrows any other error. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof ServiceError && (error.code === 'validation_failed' || error.code === 'conflict')) {
    return { status: statusOf[error.code], text: error.message, details: error.details ?? [] };
  }
  throw error;
}
