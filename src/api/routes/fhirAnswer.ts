import { type Issue, issueCodes, refused } from '../../modules/integrations/fhir/resources/issue.ts';
import { type ErrorCode, ServiceError } from '../../platform/errors.ts';
import type { Answer } from '../server/answer.ts';
import { errorAnswer } from '../server/errorAnswer.ts';

/** Media type of FHIR in JSON (FHIR R4, 2.6.2). */
export const FHIR_JSON = 'application/fhir+json';

/** Maximum number of issues reported for a message that is refused as a whole. */
const MOST_ISSUES = 1000;

/** A refusal that says what is wrong in the message, element by element, as far as possible. */
export class FhirRefusal extends ServiceError {
  readonly issues: readonly Issue[];

  constructor(code: ErrorCode, issues: readonly Issue[]) {
    const told = issues.slice(0, MOST_ISSUES);
    const details = told.map(({ expression, diagnostics }) => ({
      // Only an element's name, wherever in the message it stands.
      field: expression.replaceAll(/\[\d+\]/g, ''),
      message: diagnostics,
    }));
    super(code, 'The message was refused.', { details });
    this.issues = told;
  }
}

/** Returns an `OperationOutcome` (FHIR R4, 2.28) of these issues; of none it says that all is well. */
export function operationOutcome(issues: readonly Issue[]): object {
  const told = issues.map(({ severity, code, expression, diagnostics }) => ({
    ...{ severity, code, diagnostics },
    ...(expression !== '' && { expression: [expression] }),
  }));
  const fine = { severity: 'information', code: 'informational', diagnostics: 'All OK.' };
  return { resourceType: 'OperationOutcome', issue: told.length > 0 ? told : [fine] };
}

/** Returns the response to a failed request, as an `OperationOutcome`. */
export function refuseAsFhir(error: ServiceError, requestId: string): Answer {
  const { status, headers } = errorAnswer(error, requestId);
  const whole = refused(issueCodes[error.code] ?? 'exception', '', error.message);
  const issues = error instanceof FhirRefusal ? error.issues : [whole];
  return {
    ...(status !== undefined && { status }),
    ...(headers && { headers }),
    type: FHIR_JSON,
    body: operationOutcome(issues),
  };
}
