import { type ErrorCode, ServiceError } from '../../../../platform/errors.ts';
import type { OperationResult } from '../../carryOut.ts';
import { fieldSentence } from '../../fieldSentence.ts';
import { expressionOf } from './fieldPaths.ts';

/** Codes of `IssueType` that are used (FHIR R4, value set issue-type). */
export type IssueCode =
  | 'required'
  | 'value'
  | 'invalid'
  | 'not-found'
  | 'not-supported'
  | 'informational'
  | 'conflict'
  | 'deleted'
  | 'forbidden'
  | 'security'
  | 'login'
  | 'structure'
  | 'throttled'
  | 'too-long'
  | 'timeout'
  | 'transient'
  | 'exception';

/** What is wrong in a resource, or remarked on: one `OperationOutcome.issue`. */
export interface Issue {
  /** `error`: nothing of the resource is accepted. */
  severity: 'error' | 'warning' | 'information';
  code: IssueCode;
  /** FHIRPath of the element: `Patient.birthDate`. */
  expression: string;
  /** What to do about it; never the value. */
  diagnostics: string;
}

export function refused(code: IssueCode, expression: string, diagnostics: string): Issue {
  return { severity: 'error', code, expression, diagnostics };
}

export function remarked(code: IssueCode, expression: string, diagnostics: string): Issue {
  return { severity: 'warning', code, expression, diagnostics };
}

/** The FHIR codes of the service's refusals. */
export const issueCodes: Partial<Record<ErrorCode, IssueCode>> = {
  validation_failed: 'invalid',
  malformed_body: 'structure',
  reference_not_found: 'not-found',
  unauthorized: 'login',
  key_deactivated: 'security',
  key_expired: 'security',
  address_not_allowed: 'security',
  workspace_deactivated: 'security',
  permission_denied: 'forbidden',
  gone: 'deleted',
  not_found: 'not-found',
  method_not_allowed: 'not-supported',
  not_acceptable: 'not-supported',
  request_timeout: 'timeout',
  conflict: 'conflict',
  version_conflict: 'conflict',
  payload_too_large: 'too-long',
  unsupported_media_type: 'not-supported',
  rate_limited: 'throttled',
  overloaded: 'transient',
  unavailable: 'transient',
  unreadable: 'transient',
};

/** Returns the issues in the result of a resource of a type: why it was refused, or remarks on its record. */
export function issuesOf(type: string, result: OperationResult | undefined): Issue[] {
  if (result === undefined) return [];
  if ('error' in result) return refusalIssues(type, result.error);
  if (result.outcome === 'left_out') return [];
  return result.warnings.map(({ field, message }) =>
    remarked('value', expressionOf(type, field), fieldSentence(field, message)),
  );
}

function refusalIssues(type: string, error: unknown): Issue[] {
  if (!(error instanceof ServiceError)) return [refused('exception', type, 'The service failed.')];
  const code = issueCodes[error.code] ?? 'exception';
  if (error.details === undefined) return [refused(code, type, error.message)];
  return error.details.map(({ field, message }) =>
    refused(code, expressionOf(type, field), fieldSentence(field, message)),
  );
}
