import { addressIncomplete } from './addressIncomplete.ts';
import { changedAfterBilling } from './changedAfterBilling.ts';
import { cliaNumber } from './cliaNumber.ts';
import { coverageNotInForce } from './coverageNotInForce.ts';
import { documentMissing } from './documentMissing.ts';
import { facilityMissing } from './facilityMissing.ts';
import { facilityNpi } from './facilityNpi.ts';
import { facilityTaxId } from './facilityTaxId.ts';
import { filingLimitNear } from './filingLimitNear.ts';
import { insuranceRankGap } from './insuranceRankGap.ts';
import { payerCodeMissing } from './payerCodeMissing.ts';
import { policyNumberMissing } from './policyNumberMissing.ts';
import { primaryInsuranceMissing } from './primaryInsuranceMissing.ts';
import { providerMissing } from './providerMissing.ts';
import { providerNpi } from './providerNpi.ts';
import { renderingRole } from './renderingRole.ts';
import type { Rule } from './rule.ts';
import { serviceBeforeBirth } from './serviceBeforeBirth.ts';
import { serviceDateInFuture } from './serviceDateInFuture.ts';
import { serviceDateMissing } from './serviceDateMissing.ts';
import { subscriberIncomplete } from './subscriberIncomplete.ts';
import { suspectedDuplicate } from './suspectedDuplicate.ts';
import { taxonomyCode } from './taxonomyCode.ts';
import { taxonomyCodeMissing } from './taxonomyCodeMissing.ts';
import { timelyFiling } from './timelyFiling.ts';
import { zipOfOtherState } from './zipOfOtherState.ts';

/** Every rule, in the order in which a claim is filled in. */
export const rules: readonly Rule[] = [
  serviceDateMissing,
  serviceDateInFuture,
  serviceBeforeBirth,
  timelyFiling,
  filingLimitNear,
  providerMissing,
  providerNpi,
  taxonomyCode,
  taxonomyCodeMissing,
  renderingRole,
  facilityMissing,
  facilityNpi,
  facilityTaxId,
  cliaNumber,
  documentMissing,
  primaryInsuranceMissing,
  insuranceRankGap,
  coverageNotInForce,
  policyNumberMissing,
  subscriberIncomplete,
  payerCodeMissing,
  addressIncomplete,
  zipOfOtherState,
  suspectedDuplicate,
  changedAfterBilling,
];
