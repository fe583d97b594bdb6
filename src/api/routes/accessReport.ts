import { Readable } from 'node:stream';
import { z } from 'zod';
import { patient } from '../../domain/records/kinds/patient.ts';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import {
  accessReasons,
  judgeRow,
  type ReportPorts,
  reportLines,
  reportOf,
} from '../../modules/audit/accessReport.ts';
import { setVip } from '../../modules/audit/accessReview.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import { bytesSchema, endpoint } from '../schemas/endpoint.ts';
import { accessSubject, eventMediaTypes, pathId, recordPath } from '../schemas/parameters.ts';
import { doneAnswer, tagOf } from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf } from '../server/requestContext.ts';

type ReportRoutePorts = ReportPorts & HistoryPorts & IdempotencyPorts;

const month = z
  .string()
  .meta({ description: 'The month, in the time zone of the workspace', examples: ['2026-03'] });
const reportQuery = z.object({ month });
const path = '/integration/audit/report';

const exampleRow = {
  ...{ id: '6a0d6c1e-5a53-5b0a-8d3f-3f6d0f6e1c52', day: '2026-03-14', reason: 'same_family_name' },
  ...{ kind: 'patient', record_id: 'patient-1001' },
  ...{ from: '2026-03-14T09:30:00.000Z', to: '2026-03-14T09:32:10.000Z', count: 3 },
  ...{ principal_type: 'user', principal_id: 'usr_8tr0a25ZWZREgr7G', principal_name: 'ada@clinic.example' },
};

/** `GET /integration/audit/report`. */
const readAccessReport = endpoint({
  method: 'get',
  path,
  operationId: 'readAccessReport',
  summary: 'Read the report of access out of the ordinary',
  description:
    'Access of people in a month that somebody should look at, newest day first: one row per line, for each person, day and reason ' +
    `(${accessReasons.map((reason) => `\`${reason}\``).join(', ')}). A row is a question, not a finding. With the last judgment of ` +
    'each row. The read is itself recorded in the audit trail.',
  tag: 'Requests',
  permission: 'audit',
  query: reportQuery,
  answers: {
    200: {
      description: 'Rows.',
      stream: {
        [eventMediaTypes.ndjson]: { schema: bytesSchema, example: `${JSON.stringify(exampleRow)}\n` },
      },
    },
  },
  handler: (ports: ReportRoutePorts) => async (context) => {
    const query = validate(reportQuery, context.req.query);
    const caller = callerOf(context);
    const report = await reportOf(ports, caller.workspace, query.month);
    await recordAccess(ports.eventLog, caller, { action: 'audit.report', query });
    return {
      headers: { 'Content-Type': eventMediaTypes.ndjson },
      body: { stream: Readable.from(reportLines(report, ports.names, 'ndjson')) },
    };
  },
});

const judgmentSchema = exactObject({
  month,
  id: z.uuid().meta({ description: 'Of the row', examples: [exampleRow.id] }),
  note: z
    .string()
    .meta({ description: 'What was concluded', examples: ['In order: she registered her own child.'] }),
}).meta({ id: 'AccessJudgment', description: 'What somebody concluded about a row of the report.' });

const description = 'It was recorded.';
const done = (message: string) =>
  doneAnswer(description, { id: 'AccessReviewWritten', description }, message);

/** `POST /integration/audit/report/judgments`. */
const judgeAccessRow = endpoint({
  method: 'post',
  path: `${path}/judgments`,
  operationId: 'judgeAccess',
  summary: 'Judge a row of the report',
  description:
    'Records what was concluded about a row, in the place of an earlier conclusion. It blocks nobody.',
  tag: 'Requests',
  permission: 'audit',
  takesIdempotencyKey: true,
  body: {
    required: true,
    content: {
      'application/json': {
        schema: judgmentSchema,
        example: { month: '2026-03', id: exampleRow.id, note: 'In order: she registered her own child.' },
      },
    },
  },
  answers: { 200: done('Judgment recorded') },
  errors: ['ReportRowNotFound', 'BodyTooLarge', 'NotJson'],
  handler: (ports: ReportRoutePorts) => async (context) => {
    const input = await readJson(context);
    const { note, ...row } = validate(judgmentSchema, input);
    await withOptionalIdempotency(ports, context, input, (caller) => judgeRow(ports, caller, row, note));
    return { body: { success: true, message: 'Judgment recorded' } } as const;
  },
});

const vipSchema = exactObject({
  vip: z.boolean().meta({ description: 'Whether access to the patient is in the report' }),
}).meta({ id: 'VipMark', description: 'Whether a patient is marked as VIP.' });

/** `PUT /integration/patients/{id}/vip`. */
const markVip = endpoint({
  method: 'put',
  path: `/integration/${patient.plural}/{id}/vip`,
  operationId: 'setPatientVip',
  summary: 'Mark a patient as VIP',
  description:
    'Access of people to the records of a VIP is in the monthly report. The mark belongs to the workspace: it is no field of the ' +
    'record, and upserts do not change it.',
  tag: tagOf(patient),
  permission: 'settings',
  takesIdempotencyKey: true,
  params: recordPath(patient),
  body: { required: true, content: { 'application/json': { schema: vipSchema, example: { vip: true } } } },
  answers: { 200: done('Patient marked') },
  errors: ['RecordNotFound', 'BodyTooLarge', 'NotJson'],
  subject: ({ req }) => accessSubject(patient.kind, req.params.id),
  handler: (ports: ReportRoutePorts) => async (context) => {
    const id = pathId(context.req, 'id', patient.title);
    const input = await readJson(context);
    const { vip } = validate(vipSchema, input);
    await withOptionalIdempotency(ports, context, input, (caller) => setVip(ports, caller, id, vip));
    return { body: { success: true, message: vip ? 'Patient marked' : 'Mark removed' } } as const;
  },
});

/** The endpoints of the report of access out of the ordinary. */
export const accessReportEndpoints = [readAccessReport, judgeAccessRow, markVip];
