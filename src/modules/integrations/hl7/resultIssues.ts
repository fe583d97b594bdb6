import { type ErrorCode, type ServiceError, UnreadableError } from '../../../platform/errors.ts';
import { recordOf } from '../aboutRecords.ts';
import type { OperationResult } from '../carryOut.ts';
import { fieldSentence } from '../fieldSentence.ts';
import type { Operation } from '../operation.ts';
import type { ConditionCode, Hl7Issue } from './hl7Issue.ts';

/** The HL7 table 0357 codes of the service's refusals. */
const codes: Partial<Record<ErrorCode, ConditionCode>> = {
  reference_not_found: '204',
  not_found: '204',
};

const later = new Set<ErrorCode>(['unavailable', 'overloaded', 'rate_limited', 'internal']);

/**
 * Whether a refusal is not because of what was sent, which should be sent again. One because of a damaged event stays, and would
 * hold up all later messages of the sender.
 */
export function isLater(error: ServiceError): boolean {
  return error instanceof UnreadableError ? error.code === 'unreadable' : later.has(error.code);
}

/** Returns why an operation was refused, or remarks on its record, located where the message says it. */
export function issuesOf(operation: Operation, result: OperationResult): Hl7Issue[] {
  if ('error' in result) return refusalIssues(operation, result.error as ServiceError);
  if (result.outcome === 'left_out') return [];
  return result.warnings.map(({ field, message }) => ({
    ...{ severity: 'warning', code: faultOf(operation, field), location: operation.at },
    text: sentence(operation, field, message),
  }));
}

/** The error's own text may name ids; its details do not. */
function refusalIssues(operation: Operation, { code, message, details }: ServiceError): Hl7Issue[] {
  const told = details ?? [{ field: '', message }];
  return told.map((one) => ({
    ...{ severity: 'error', location: operation.at },
    code: code === 'validation_failed' ? faultOf(operation, one.field) : (codes[code] ?? '207'),
    text: sentence(operation, one.field, one.message),
  }));
}

/** Returns whether a field is at fault for what it says, or for saying nothing. */
function faultOf(operation: Operation, field: string): ConditionCode {
  const [name = ''] = field.split('.');
  return operation.type === 'record' && !Object.hasOwn(operation.fields, name) ? '101' : '102';
}

function sentence(operation: Operation, field: string, message: string): string {
  const name = operation.type === 'document' ? 'document' : recordOf(operation).kind;
  return fieldSentence(field === '' ? '' : `${name}.${field}`, message);
}
