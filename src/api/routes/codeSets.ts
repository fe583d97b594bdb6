import { z } from 'zod';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { codeSetNames, readLoadedSets } from '../../modules/readiness/rules/codeSets.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { tagOf, timestamp } from '../schemas/records.ts';

const count = (description: string) => z.int().min(0).meta({ description });

const codeSetSchema = z
  .object({
    set: z.enum(codeSetNames).meta({
      description:
        '`nucc`: taxonomy codes; `nppes`: NPIs; `clia`: CLIA numbers; `payers`: the payer IDs of a clearinghouse',
    }),
    release: z
      .string()
      .nullable()
      .meta({ description: 'What the publisher calls it, such as a date', examples: ['2026-11-08'] }),
    codes: count('How many codes; of `nppes` and `clia`, of those that records had when it was loaded'),
    ended: count('How many of these have ended: deactivated NPIs, terminated CLIA numbers'),
    unknown: count('How many numbers that records had are not in the file'),
    loaded_at: timestamp('When it was loaded'),
  })
  .meta({ id: 'CodeSet', description: 'A code set that rules use.' });

const listSchema = z
  .object({ code_sets: z.array(codeSetSchema) })
  .meta({ id: 'CodeSets', description: 'The code sets that rules use.' });

const example: z.infer<typeof listSchema> = {
  code_sets: [
    {
      ...{ set: 'nppes', release: '2026-11-08', codes: 412, ended: 2, unknown: 1 },
      loaded_at: '2026-11-10T06:00:00.000Z',
    },
  ],
};

/** `GET /integration/readiness/code-sets`. */
const listCodeSets = endpoint({
  method: 'get',
  path: '/integration/readiness/code-sets',
  operationId: 'listCodeSets',
  summary: 'List the code sets that rules use',
  description:
    'The latest code set of each name that the operator has loaded for all workspaces, and when. A set that is not ' +
    'listed was never loaded: its rules find nothing.',
  tag: tagOf(catalogEntry('encounter')),
  permission: 'read',
  answers: { 200: { description: 'The code sets.', schema: listSchema, example } },
  subject: () => ({ kind: 'encounter' }),
  handler:
    ({ eventLog }: QueryPorts) =>
    async () => {
      const loaded = await Promise.all(codeSetNames.map((name) => readLoadedSets(eventLog, name)));
      const code_sets = loaded.flatMap((sets) => {
        const last = sets.at(-1);
        if (last === undefined) return [];
        const { data, codes, ended, unknown, event } = last;
        return {
          ...{ set: data.set, release: data.release ?? null, codes: codes.size },
          ...{ ended: ended.size, unknown: unknown.size, loaded_at: event.recordedAt },
        };
      });
      return { body: { code_sets } };
    },
});

/** The endpoint of code sets. */
export const codeSetEndpoints = [listCodeSets];
