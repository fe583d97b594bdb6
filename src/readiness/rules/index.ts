import type { Rule } from '../rule.ts';
import { addressIncomplete } from './address/addressIncomplete.ts';
import { zipOfOtherState } from './address/zipOfOtherState.ts';
import { filingLimitNear } from './dates/filingLimitNear.ts';
import { serviceBeforeBirth } from './dates/serviceBeforeBirth.ts';
import { serviceDateInFuture } from './dates/serviceDateInFuture.ts';
import { serviceDateMissing } from './dates/serviceDateMissing.ts';
import { timelyFiling } from './dates/timelyFiling.ts';
import { changedAfterBilling } from './encounter/changedAfterBilling.ts';
import { documentMissing } from './encounter/documentMissing.ts';
import { suspectedDuplicate } from './encounter/suspectedDuplicate.ts';
import { cliaNumber } from './facility/cliaNumber.ts';
import { facilityMissing } from './facility/facilityMissing.ts';
import { facilityNpi } from './facility/facilityNpi.ts';
import { facilityTaxId } from './facility/facilityTaxId.ts';
import { coverageNotInForce } from './insurance/coverageNotInForce.ts';
import { insuranceRankGap } from './insurance/insuranceRankGap.ts';
import { payerCodeMissing } from './insurance/payerCodeMissing.ts';
import { policyNumberMissing } from './insurance/policyNumberMissing.ts';
import { primaryInsuranceMissing } from './insurance/primaryInsuranceMissing.ts';
import { subscriberIncomplete } from './insurance/subscriberIncomplete.ts';
import { providerMissing } from './provider/providerMissing.ts';
import { providerNpi } from './provider/providerNpi.ts';
import { renderingRole } from './provider/renderingRole.ts';
import { taxonomyCode } from './provider/taxonomyCode.ts';
import { taxonomyCodeMissing } from './provider/taxonomyCodeMissing.ts';

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
