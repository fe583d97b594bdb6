import { instantOf } from '../../domain/records/schema/isoDates.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import type { RecordView } from '../../modules/records/queries/records.ts';
import { fieldLabel } from './labels.ts';
import { type Html, html } from './page.ts';
import { bdi, dayText } from './text.ts';

const ranks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

/** A policy of a patient; an open end is one that the record does not state. */
interface Coverage {
  rank: (typeof ranks)[number];
  from: number | undefined;
  to: number | undefined;
}

const WIDTH = 1_000;
const ROW = 14;
const DAY_MS = 86_400_000;

function coveragesOf(record: RecordFields): Coverage[] {
  return ranks.flatMap((rank) => {
    const insurance = record[rank] as Record<string, unknown> | null | undefined;
    if (!insurance) return [];
    const bound = (field: string) =>
      typeof insurance[field] === 'string' ? instantOf(insurance[field].slice(0, 10)) : undefined;
    return { rank, from: bound('effective_date'), to: bound('termination_date') };
  });
}

/** A day of service, and whether the primary insurance covers it. */
interface Service {
  at: number;
  id: string;
  isCovered: boolean;
}

/**
 * Returns the policies of a patient and the dates of service of some encounters on one line of time, with those outside
 * the primary insurance in words; nothing without a date of service.
 */
export function coverageLine(record: RecordFields, encounters: readonly RecordView[]): Html | undefined {
  const coverages = coveragesOf(record);
  const primary = coverages.find(({ rank }) => rank === 'primary_insurance');
  const services = encounters.flatMap(({ id, record: { date_of_service: date } }): Service[] => {
    if (typeof date !== 'string') return [];
    const at = instantOf(date.slice(0, 10));
    const isCovered = primary !== undefined && at >= (primary.from ?? at) && at <= (primary.to ?? at);
    return [{ at, id, isCovered }];
  });
  if (services.length === 0) return undefined;
  const bounds = [
    ...services.map(({ at }) => at),
    ...coverages.flatMap(({ from, to }) => [from, to]).filter((one) => one !== undefined),
  ];
  const [first, last] = [Math.min(...bounds) - DAY_MS, Math.max(...bounds) + DAY_MS];
  const place = (at: number) => Math.round(((at - first) / (last - first)) * WIDTH);
  const outside = services.filter(({ isCovered }) => !isCovered);
  const height = (coverages.length + 1) * ROW;
  return html`<section class="card coverage" aria-labelledby="coverage"><h2 id="coverage">Coverage and dates of service</h2>
<div class="coverage-chart"><ul class="plain muted" aria-hidden="true">${coverages.map(({ rank }) => html`<li>${fieldLabel(rank)}</li>`)}<li>Service</li></ul>
<div><svg role="img" aria-label="${summaryOf(coverages, services, outside)}" viewBox="0 0 ${WIDTH} ${height}" height="${(coverages.length + 1) * 1.4}rem" preserveAspectRatio="none">
${coverages.map(({ rank, from, to }, at) => {
  const [begin, end] = [place(from ?? first), place(to ?? last)];
  return html`<rect class="coverage-policy" x="${begin}" y="${at * ROW + 2}" width="${Math.max(2, end - begin)}" height="${ROW - 4}"><title>${fieldLabel(rank)}: ${rangeText(from, to)}</title></rect>`;
})}
${services.map(
  ({ at, isCovered }) =>
    html`<rect class="${isCovered ? 'coverage-in' : 'coverage-out'}" x="${place(at) - 2}" y="${height - ROW + 2}" width="4" height="${ROW - 4}"><title>${dayOf(at)}</title></rect>`,
)}
</svg>
<div class="chart-ends" aria-hidden="true"><span>${dayOf(first + DAY_MS)}</span><span>${dayOf(last - DAY_MS)}</span></div></div></div>
${
  outside.length > 0 &&
  html`<p class="warning">Outside the primary insurance: ${outside.slice(0, 5).map(({ at, id }, index) => html`${index > 0 && ', '}${dayOf(at)} (${bdi(id)})`)}${outside.length > 5 && ` and ${outside.length - 5} more`}.</p>`
}
</section>`;
}

function summaryOf(
  coverages: readonly Coverage[],
  services: readonly Service[],
  outside: readonly Service[],
): string {
  const policies = coverages.map(({ rank, from, to }) => `${fieldLabel(rank)} ${rangeText(from, to)}`);
  return `${policies.join('; ') || 'No insurance'}. ${services.length} dates of service, ${outside.length} of them outside the primary insurance.`;
}

function rangeText(from: number | undefined, to: number | undefined): string {
  return `${from === undefined ? 'without a start' : `from ${dayOf(from)}`}${to === undefined ? ', open-ended' : ` to ${dayOf(to)}`}`;
}

function dayOf(at: number): string {
  return dayText(new Date(at).toISOString());
}
