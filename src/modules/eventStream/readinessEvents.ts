import { z } from 'zod';
import { claimParts, readinessStates } from '../../domain/events/encounterReadiness.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import {
  type FieldRules,
  hashed,
  listed,
  pseudonymSchema,
  type Rule,
} from '../../domain/records/schema/deidentification.ts';
import { identifier } from '../../domain/records/schema/fields.ts';

const encounter_id = encounter.schema.shape.id;
const kinds = catalog.map((entry) => entry.kind);
const version = z.int().min(1);

const usedVersion = z.object({
  part: z.enum(claimParts).meta({ description: 'The role of the record in the claim' }),
  kind: z.enum(kinds),
  id: z.string(),
  version,
});
const versions = z
  .array(usedVersion)
  .meta({ description: 'The versions of the records that the claim is based on' });

const state = z.enum(readinessStates);
const foundBy = z
  .array(z.string().regex(/^[a-z_]+$/))
  .meta({ description: 'The rules with findings', examples: [['payer_code_missing']] });
const cause = z
  .object({
    event_id: z.string(),
    kind: z.enum([...kinds, 'document', 'readiness']),
    id: z.string(),
    version,
  })
  .meta({
    description:
      'The write that caused it (`readiness`: that the encounter was billed); omitted if a finding began ' +
      'or ended by itself',
  });

const count = z.int().min(0).optional();
const countsShape = { ready: count, blocked: count, not_completed: count, voided: count } satisfies Record<
  (typeof readinessStates)[number],
  z.ZodType
>;
const counts = (description: string) =>
  z.object(countsShape).meta({ description, examples: [{ ready: 118, blocked: 4 }] });
const before = counts(
  'Encounters of the workspace in each state before the change; states without any may be omitted',
);
const after = counts('The same after all encounters were reevaluated');

/** The data of readiness events. */
export const readinessSchemas = {
  EncounterBilled: z.object({
    encounter_id,
    claim_id: identifier("The caller's id for the claim that was sent", 'claim-7001'),
    versions,
  }),
  BillingChangeAcknowledged: z.object({
    encounter_id,
    reason: z.string().meta({ description: 'Why no new claim is sent', examples: ['Accepted as it was'] }),
    versions,
  }),
  EncounterReadinessChanged: z.object({
    encounter_id,
    from: state.optional().meta({ description: 'Omitted if nothing was reported for the encounter before' }),
    to: state,
    rules: foundBy,
    cause: cause.optional(),
    rules_version: z.string().meta({
      description: 'Changes when the rules, or the rule settings of the workspace, change',
      examples: ['readiness_v2.44136fa355b3'],
    }),
  }),
  ReadinessErased: z.object({ encounter_id }),
  ReadinessRulesApplied: z.object({
    cause: z.string().meta({ description: 'Id of the event that changed the basis of the rules' }),
    before,
    after,
  }),
};

/** Returns what is shown, with hashes for ids, of an object or list described by `from`; any other value is omitted. */
function shownAs<Sent>(
  from: z.ZodType<Sent>,
  schema: z.ZodType,
  show: (sent: Sent, pseudonym: (kind: string, id: string) => string) => unknown,
): Rule {
  return {
    schema: schema.meta({ description: `${from.meta()?.description}. Ids are keyed hashes` }),
    show(value, { pseudonym }) {
      const { data } = from.safeParse(value);
      return data === undefined ? undefined : show(data, pseudonym);
    },
  };
}

const hashedVersions = shownAs(
  versions,
  z.array(usedVersion.extend({ id: pseudonymSchema }).strict()),
  (used, pseudonym) => used.map((one) => ({ ...one, id: pseudonym(one.kind, one.id) })),
);
const hashedCause = shownAs(
  cause,
  cause.extend({ event_id: pseudonymSchema, id: pseudonymSchema }).strict(),
  ({ event_id, kind, id, version }, pseudonym) => ({
    ...{ event_id: pseudonym('event', event_id), kind, version },
    id: pseudonym(kind === 'readiness' ? encounter.kind : kind, id),
  }),
);

/** What the de-identified view shows of them, by type in the log. */
export const readinessRules: ReadonlyMap<string, FieldRules> = new Map(
  Object.entries({
    EncounterBilled: { encounter_id: hashed('encounter'), claim_id: 'left out', versions: hashedVersions },
    BillingChangeAcknowledged: {
      encounter_id: hashed('encounter'),
      reason: 'left out',
      versions: hashedVersions,
    },
    EncounterReadinessChanged: {
      encounter_id: hashed('encounter'),
      from: listed(state),
      to: listed(state),
      rules: listed(foundBy),
      cause: hashedCause,
      rules_version: 'left out',
    },
    ReadinessErased: { encounter_id: hashed('encounter') },
    ReadinessRulesApplied: {
      cause: hashed('event'),
      before: listed(before.strict().meta(before.meta() ?? {})),
      after: listed(after.strict().meta(after.meta() ?? {})),
    },
  } satisfies {
    [Type in keyof typeof readinessSchemas]: Record<
      keyof (typeof readinessSchemas)[Type]['shape'],
      FieldRules[string]
    >;
  }),
);
