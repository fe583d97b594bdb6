import { type FieldMessage, ServiceError } from '../../errors.ts';
import { statusOf } from '../../http/server/errorAnswer.ts';
import type { Visit } from './route.ts';

type Form = Visit['form'];

/** The value of a field that was sent, without blanks around it; empty when there is none. */
export function textOf(form: Form, name: string): string {
  return (valuesOf(form, name)[0] ?? '').trim();
}

/** A password that was sent: exactly as it was typed. */
export function passwordOf(form: Form, name: string): string {
  return valuesOf(form, name)[0] ?? '';
}

/** All values of a name, as check boxes send them. */
export function valuesOf(form: Form, name: string): string[] {
  return [form[name] ?? []].flat();
}

/** Why a form was not taken, to be shown with it. */
export interface Refusal {
  status: number;
  text: string;
  details: readonly FieldMessage[];
}

/** The refusal of what somebody sent; throws any other error again. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof ServiceError && (error.code === 'validation_failed' || error.code === 'conflict')) {
    return { status: statusOf[error.code], text: error.message, details: error.details ?? [] };
  }
  throw error;
}
