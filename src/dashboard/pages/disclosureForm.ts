import type { Request } from 'express';
import { z } from 'zod';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import { reportFormats } from '../../modules/audit/disclosureFormats.ts';
import {
  type DisclosureForm,
  type DisclosureQuery,
  disclosureForms,
} from '../../modules/audit/disclosureQuery.ts';
import { filterForm } from '../components/filterForm.ts';
import { checkboxes, messageOf } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { momentInputs, shownMoment, zoneParameter } from '../components/momentFields.ts';
import { filledQuery } from '../components/recordQuery.ts';
import type { Refusal } from '../components/sentForm.ts';

const moment = requiredDate('2026-03-14T12:00').optional();
const yes = z.literal('yes').optional();

const querySchema = z.object({
  form: z.enum(disclosureForms).default('access_report'),
  from: moment,
  to: moment,
  omit_exempt: yes,
  page_token: z.string().optional(),
});

const exportSchema = querySchema.extend({ format: z.enum(reportFormats), summary: yes });

/** The names of the parameters of a disclosures page, and of those of its download. */
export const disclosureParameters: readonly string[] = [...Object.keys(querySchema.shape), zoneParameter];
export const exportParameters: readonly string[] = Object.keys(exportSchema.shape);

/** Returns the query in a page's address; times without an offset are in UTC. Throws `validation_failed`. */
export function disclosureQuery(req: Request, patientId: string) {
  const { page_token, ...query } = validate(querySchema, filledQuery(req));
  return { query: toQuery(query, patientId), pageToken: page_token, limits: limitsOf(query) };
}

/** Returns the query of a download. Throws `validation_failed`. */
export function exportQuery(req: Request, patientId: string) {
  const { format, summary, ...query } = validate(exportSchema, filledQuery(req));
  return { query: toQuery(query, patientId), format, isSummary: summary === 'yes' };
}

type Sent = Omit<z.infer<typeof querySchema>, 'page_token'>;

function toQuery({ form, from, to, omit_exempt }: Sent, patientId: string): DisclosureQuery {
  const instant = (sent: string | undefined) => sent && new Date(instantOf(sent)).toISOString();
  return { patientId, form, from: instant(from), to: instant(to), omitExempt: omit_exempt === 'yes' };
}

/** Returns what limits the report, as sent: for links. */
function limitsOf({ form, from, to, omit_exempt }: Sent): Record<string, string> {
  return { form, ...(from && { from }), ...(to && { to }), ...(omit_exempt && { omit_exempt }) };
}

/** Returns the form that limits a report; `sent` are the limits as sent. */
export function disclosureFilter(
  path: string,
  form: DisclosureForm,
  sent: Record<string, string>,
  refusal?: Refusal,
): Html {
  const moment = (name: string, label: string, hint: string) => ({
    ...{ name, label, hint, step: 1, value: shownMoment(sent[name]) },
    error: messageOf(refusal?.details, name),
  });
  const isAccounting = form === 'accounting';
  const begin = isAccounting ? 'Default: six years ago.' : 'Default: no limit.';
  return filterForm(
    `${path}?form=${form}`,
    html`<input type="hidden" name="form" value="${form}">
${momentInputs(moment('from', 'From', begin), moment('to', 'Before', 'Default: now.'))}
${
  isAccounting &&
  checkboxes('omit_exempt', 'Exempt disclosures', [
    { value: 'yes', text: 'Leave out', isChecked: sent.omit_exempt === 'yes' },
  ])
}`,
  );
}
