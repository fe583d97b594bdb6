import { distinct, isInUs, textOf, wrong } from './faults.ts';
import type { Rule } from './rule.ts';
import { statesOfZip } from './statesOfZip.ts';

export const zipOfOtherState: Rule = {
  code: 'zip_of_other_state',
  severity: 'warns',
  title: 'The ZIP code of an address belongs to its state',
  source: 'USPS Domestic Mail Manual, labeling list L002: three-digit ZIP code prefixes',
  reads: ['patient', 'provider', 'facility'].flatMap((kind) => [
    `${kind}.state`,
    `${kind}.zip_code`,
    `${kind}.country`,
  ]),
  check: ({ patient, provider, facility }) =>
    distinct(patient, provider, facility)
      .filter(isInUs)
      .flatMap((record) => {
        const states = statesOfZip(textOf(record, 'zip_code') ?? '');
        if (states.length === 0) return [];
        return wrong(
          record,
          'state',
          (state) => states.includes(state),
          'The ZIP code belongs to another state.',
        );
      }),
};
