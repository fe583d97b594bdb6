import { codesFor } from '../../src/modules/readiness/rules/codes.ts';
import { rules } from '../../src/modules/readiness/rules/index.ts';
import { code, page, table } from './markdown.ts';

const ofBilling = rules.filter(({ owner }) => owner === 'billing');
const ofVoid = rules.filter(({ holdsForVoid }) => holdsForVoid);

/** `docs/reference/readiness-rules.md` */
export function readinessPage(): string {
  return page(
    'Readiness rules',
    'These rules decide [whether an encounter is ready](../guides/check-readiness.md) to be billed. A rule that blocks keeps an encounter from being ' +
      '`ready`; one that warns does not. Where a workspace cannot make a rule block, the table says so. ' +
      `In a void encounter, only ${ofVoid.map(({ code: name }) => code(name)).join(', ')} finds anything.`,
    'What a rule finds has an `owner`, who puts it right: `registration` for a field of a patient, `clinician` of an encounter, `credentialing` ' +
      'of a provider, `practice` of a facility, `billing` of a payer, and of everything that ' +
      `${ofBilling.map(({ code: name }) => code(name)).join(', ')} find.`,
    'The last columns have the bare codes under which a claim with such a finding is usually refused: the claim status of a 277CA, adjustment reasons and remarks of an ' +
      '835, and the boxes of a CMS-1500. Payers differ, and the texts of the lists are licensed by their publishers.',
    table(
      ['rule', 'severity', 'requires', 'fields', 'source', '277CA', 'CARC', 'RARC', 'CMS-1500'],
      rules.map(({ code: name, severity, title, reads, source }) => [
        code(name),
        severity,
        title,
        reads.map(code).join(', '),
        source,
        ...Object.values(codesFor({ code: name })).map((codes) => codes.join(', ')),
      ]),
    ),
  );
}
