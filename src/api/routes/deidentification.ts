import { z } from 'zod';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import {
  dateChoices,
  deidentificationMethods,
  readDeidentification,
  setDeidentification,
  shownSettings,
  ZIP_AREA,
} from '../../modules/eventStream/deidentificationSettings.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { readJson } from '../server/body.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf } from '../server/requestContext.ts';

const path = '/integration/deidentification';
const common = { tag: 'Events', permission: 'settings' } as const;

const dates = z.enum(dateChoices).meta({
  description:
    '`years`: only the years of dates (Safe Harbor, 45 CFR 164.514(b)(2)); `shifted`: all dates of a patient earlier by the same secret ' +
    'number of days, which is not Safe Harbor (Expert Determination, 164.514(b)(1))',
});
const determination = z.string().meta({
  description: 'The expert determination that shifted dates rest on',
  examples: ['Report of J. Doe, PhD, of 2026-02-01'],
});
const zipAreas = z.array(z.string().regex(ZIP_AREA)).meta({
  description:
    'The first three digits of the ZIP codes in whose area more than 20,000 people live, according to the Census; for others, the view has ' +
    '`000`. Empty: the view has no ZIP codes',
  examples: [['680', '681']],
});

const settingsSchema = exactObject({
  method: z
    .enum(deidentificationMethods)
    .meta({ description: 'How the view is de-identified (45 CFR 164.514(b))' }),
  dates,
  determination: determination.nullable(),
  zip_areas: zipAreas,
}).meta({ id: 'Deidentification', description: 'How the de-identified view of a workspace is made.' });

const example: z.infer<typeof settingsSchema> = {
  method: 'safe_harbor',
  dates: 'years',
  determination: null,
  zip_areas: ['680', '681'],
};

/** `GET /integration/deidentification`. */
const readSettings = endpoint({
  ...common,
  method: 'get',
  path,
  operationId: 'readDeidentification',
  summary: 'Read how the de-identified view is made',
  description: 'What the workspace has set, for the events that are recorded from now on.',
  answers: { 200: { description: 'The settings.', schema: settingsSchema, example } },
  handler:
    ({ eventLog }: QueryPorts) =>
    async (context) => ({
      body: shownSettings(await readDeidentification(eventLog, callerOf(context).workspace)),
    }),
});

const changesSchema = exactObject({
  dates: dates.optional(),
  determination: determination.optional(),
  zip_areas: zipAreas.optional(),
}).meta({ id: 'DeidentificationChanges', description: 'What is to be set.' });

/** `PATCH /integration/deidentification`. */
const setSettings = endpoint({
  ...common,
  method: 'patch',
  path,
  operationId: 'setDeidentification',
  summary: 'Set how the de-identified view is made',
  description:
    'Applies to the events that are recorded from then on, and to snapshots; what is not given stays as it is. Shifted dates need a ' +
    '`determination`: they are de-identified only if an expert has determined so (45 CFR 164.514(b)(1)), and every event says so.',
  takesIdempotencyKey: true,
  body: {
    required: true,
    content: { 'application/json': { schema: changesSchema, example: { zip_areas: ['680', '681'] } } },
  },
  answers: { 200: { description: 'The settings, now in force.', schema: settingsSchema, example } },
  errors: ['InvalidDeidentification', 'BodyTooLarge', 'NotJson'],
  handler: (ports: QueryPorts & IdempotencyPorts) => async (context) => {
    const input = await readJson(context);
    const changes = validate(changesSchema, input);
    const body = await withOptionalIdempotency(ports, context, input, async (caller) => {
      await setDeidentification(ports.eventLog, caller, changes);
      return shownSettings(await readDeidentification(ports.eventLog, caller.workspace));
    });
    return { body };
  },
});

/** The endpoints of the settings of the de-identified view. */
export const deidentificationEndpoints = [readSettings, setSettings];
