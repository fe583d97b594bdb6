import { Readable } from 'node:stream';
import { z } from 'zod';
import type { JsonObject } from '../../domain/events/event.ts';
import { readinessStates } from '../../domain/events/readinessEvents.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { draftAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess, recordFurtherAccess } from '../../modules/audit/recordAccess.ts';
import { billedThoughVoid } from '../../modules/readiness/billingCommands.ts';
import { claimDraft, missingFromDraft, RECORD_EXTENSION } from '../../modules/readiness/claimDraft.ts';
import { type DraftFacts, readDrafts } from '../../modules/readiness/draftList.ts';
import { readReadiness } from '../../modules/readiness/queries.ts';
import { isVoid } from '../../modules/readiness/rules/rule.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { accessSubject, momentQuerySchema, pathId, recordPath, withPlus } from '../schemas/parameters.ts';
import { tagOf } from '../schemas/records.ts';
import { NDJSON } from '../server/answer.ts';
import { callerOf } from '../server/requestContext.ts';
import { selectionOf, worklistFilterSchema } from './readiness.ts';

const entry = catalogEntry('encounter');

const draftSchema = z
  .object({
    encounter_id: z.string().meta({ description: "The caller's id of the encounter" }),
    state: z.enum(readinessStates).meta({ description: 'Whether the encounter can be billed' }),
    missing: z.array(z.enum(missingFromDraft)).meta({
      description: 'What a claim needs besides, and the service does not have',
    }),
    claim: z.record(z.string(), z.unknown()).meta({
      description:
        `The draft as a FHIR R4 \`Claim\`. It contains the records on which it is based; each has an extension ` +
        `\`${RECORD_EXTENSION}\` with the kind, id and version of the record`,
    }),
  })
  .meta({ id: 'ClaimDraft', description: 'What is known of a claim for an encounter.' });

const missing: z.infer<typeof draftSchema>['missing'] = [...missingFromDraft];

const example: z.infer<typeof draftSchema> = {
  ...{ encounter_id: 'encounter-4001', state: 'ready', missing },
  claim: { resourceType: 'Claim', status: 'draft', use: 'claim' },
};

const common = { method: 'get', tag: tagOf(entry), permission: 'read' } as const;
const querySchema = momentQuerySchema.pick({ as_of: true });

/** `GET /integration/encounters/{id}/claim-draft`. */
const readClaimDraft = endpoint({
  ...common,
  path: '/integration/encounters/{id}/claim-draft',
  operationId: 'getClaimDraft',
  summary: 'Get the draft of a claim for an encounter',
  description:
    'What the records say about a claim for the encounter, ready or not, as a FHIR R4 `Claim` of the status ' +
    '`draft`. Diagnoses, service lines and charges are missing: the service does not have them. If the payer gave ' +
    'the last claim a number, `related` names it, for a replacement. With `as_of`, everything is as of that time.',
  params: recordPath(entry),
  query: querySchema,
  answers: { 200: { description: 'The draft.', schema: draftSchema, example } },
  errors: ['RecordNotFound', 'Erased', 'VoidEncounter'],
  subject: ({ req }) => accessSubject('encounter', req.params.id),
  handler: (ports: QueryPorts) => async (context) => {
    const id = pathId(context.req, 'id', entry.title);
    const caller = callerOf(context);
    const { as_of: asked } = validate(querySchema, withPlus(context.req, 'as_of'));
    const asOf = asked === undefined ? undefined : instantOf(asked);
    const { facts, settings, state, at } = await readReadiness(ports, caller.workspace, id, asOf);
    if (isVoid(facts.encounter)) throw billedThoughVoid();
    const query = { ...(asked !== undefined && { as_of: asked }), claim_draft: true };
    await recordAccess(ports.eventLog, caller, ...draftAccesses([facts], query));
    const claim = claimDraft(facts, settings, new Date(at).toISOString()) as Record<string, unknown>;
    return { body: { encounter_id: id, state, missing, claim } };
  },
});

/** `GET /integration/readiness/claim-drafts`. */
const exportClaimDrafts = endpoint({
  ...common,
  path: '/integration/readiness/claim-drafts',
  operationId: 'exportClaimDrafts',
  summary: 'Export the drafts of claims for encounters of the worklist',
  description:
    'One draft a line, for each encounter that the filters of the worklist select, except void ones: with ' +
    '`state=ready&billed=false`, for everything that is to be billed. While the worklist is not current, the ' +
    'response is 503.',
  query: worklistFilterSchema,
  answers: { 200: { description: 'The drafts.', stream: { [NDJSON]: { schema: bytesSchema } } } },
  subject: () => ({ kind: entry.kind }),
  handler: (ports: QueryPorts) => async (context) => {
    const asked = validate(worklistFilterSchema, context.req.query);
    const caller = callerOf(context);
    const parts = await readDrafts(ports, caller.workspace, selectionOf(asked));
    async function* lines(): AsyncGenerator<string> {
      let record: typeof recordAccess | typeof recordFurtherAccess = recordAccess;
      for await (const drafts of parts) {
        const query = { ...asked, claim_draft: true, format: 'ndjson' };
        const facts = drafts.map((draft) => draft.facts);
        for (const access of draftAccesses(facts, query, 'readiness.export')) {
          await record(ports.eventLog, caller, access);
          record = recordFurtherAccess;
        }
        yield drafts.map((draft) => `${JSON.stringify(lineOf(draft))}\n`).join('');
      }
    }
    return { headers: { 'Content-Type': NDJSON }, body: { stream: Readable.from(lines()) } };
  },
});

function lineOf({ facts, settings, state, at }: DraftFacts): JsonObject {
  const claim = claimDraft(facts, settings, new Date(at).toISOString());
  return { encounter_id: facts.encounter.id, state, missing, claim };
}

/** The endpoints of drafts of claims. */
export const claimDraftEndpoints = [readClaimDraft, exportClaimDrafts];
