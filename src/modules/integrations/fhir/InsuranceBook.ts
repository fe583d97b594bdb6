import type { RecordFields } from '../../../domain/records/catalog.ts';
import type { RecordOperation } from '../operation.ts';
import type { InterpretedEntry } from './Interpreter.ts';
import type { MessageIndex } from './MessageIndex.ts';
import type { Resolved } from './ReferenceResolver.ts';
import { insuranceRanks, rankInsurances, type ToldInsurance } from './rankInsurances.ts';
import { endOf, startOf } from './resources/inForce.ts';
import type { MappedCoverage } from './resources/mapped.ts';
import { subscriberFields } from './subscriberFields.ts';

interface Noted {
  one: InterpretedEntry;
  payer: Extract<Resolved, { id: string }>;
  mapped: MappedCoverage;
}

/** What a patient's insurances amount to. */
export interface InsuredPatient {
  patientId: string;
  entries: InterpretedEntry[];
  /**
   * Returns the fields to write, given the patient's present state; undefined for none. `also`: the payers that are
   * created for them.
   */
  told(patient: RecordFields | undefined): {
    fields: Record<string, unknown> | undefined;
    also: RecordOperation[];
    left: number;
    /** The entries that become insurances, by the field in which these are stored. */
    ranks?: [rank: string, entry: InterpretedEntry][];
  };
}

/** Gathers what a message says about insurances, by patient. */
export class InsuranceBook {
  readonly #index: MessageIndex;
  readonly #at: number;
  readonly #byPatient = new Map<string, Noted[]>();

  constructor(index: MessageIndex, at: number) {
    this.#index = index;
    this.#at = at;
  }

  note(one: InterpretedEntry, patientId: string, payer: Noted['payer'], mapped: MappedCoverage): void {
    const noted = this.#byPatient.get(patientId) ?? [];
    noted.push({ one, payer, mapped });
    this.#byPatient.set(patientId, noted);
  }

  patients(): InsuredPatient[] {
    return [...this.#byPatient].map(([patientId, noted]) => {
      const sent = noted.filter(({ mapped }) => !mapped.isHearsay);
      const taken = sent.length > 0 ? sent : lastOf(noted);
      return {
        patientId,
        entries: noted.map(({ one }) => one),
        told: (patient) => this.#fieldsFor(taken, patient),
      };
    });
  }

  #fieldsFor(taken: readonly Noted[], patient: RecordFields | undefined): ReturnType<InsuredPatient['told']> {
    const isInsured = insuranceRanks.some((rank) => patient?.[rank] != null);
    // What is mentioned in passing does not replace what somebody sent.
    if (taken.some(({ mapped }) => mapped.isHearsay) && isInsured) {
      return { fields: undefined, also: [], left: 0 };
    }
    const told = taken.map((one) => this.#toldBy(one));
    const also = taken.flatMap(({ payer, mapped }) => (payer.also && mapped.isActive ? [payer.also] : []));
    const ranked = rankInsurances(patient, told);
    const ranks = insuranceRanks.flatMap((rank): [string, InterpretedEntry][] => {
      const place = told.findIndex(({ fields }) => fields === ranked.fields[rank]);
      return place < 0 ? [] : [[rank, (taken[place] as Noted).one]];
    });
    return { ...ranked, also, ranks };
  }

  #toldBy({ one, payer, mapped }: Noted): ToldInsurance {
    const { fields, subscriber, period, isActive, isHearsay, order } = mapped;
    const isSelf = fields.subscriber_relationship === 'self';
    const of = isSelf ? {} : subscriberFields(subscriber, one.entry.resource, this.#index, this.#at);
    const isInForce = isHearsay || period?.end === undefined || endOf(period.end) >= this.#at;
    return { fields: { payer_id: payer.id, ...fields, ...of }, isActive, isInForce, order };
  }
}

/** Returns the one that began last. */
function lastOf(noted: readonly Noted[]): Noted[] {
  const begins = ({ mapped }: Noted) => (mapped.period?.start ? startOf(mapped.period.start) : -Infinity);
  const [first, ...rest] = noted;
  if (first === undefined) return [];
  return [rest.reduce((last, one) => (begins(one) >= begins(last) ? one : last), first)];
}
