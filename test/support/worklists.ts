import { expect } from 'vitest';
import { type CliResult, runCli, storesOf } from './cli.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';

/** An encounter of the worklist, as the interface tells it. */
export interface WorklistItem {
  id: string;
  state: string;
  date_of_service: string | null;
  patient_id: string | null;
  payer_id: string | null;
  facility_id: string | null;
  provider_id: string | null;
  findings: { rule: string; severity: string; field: string; record: { kind: string; id: string } }[];
}

export interface WorklistCounts {
  states: Record<string, number>;
  rules: Record<string, number>;
}

/** All pages of a worklist that has every write answered before; `query` begins with `&`. */
export async function worklist(
  client: Client,
  query = '',
  { limit = 1_000, timeoutMs }: { limit?: number; timeoutMs?: number } = {},
): Promise<{ items: WorklistItem[]; counts: WorklistCounts }> {
  const read = async (more: string) => {
    const { status, body } = await client.get(`/integration/readiness?${more}`);
    expect(status).toBe(200);
    return body;
  };
  // What is shown is in the audit trail: whoever only waits asks for little.
  await eventually(
    async () => expect((await read('limit=1')).progress).toEqual({ is_current: true, under_way: [] }),
    timeoutMs,
  );
  const items: WorklistItem[] = [];
  const first = await read(`limit=${limit}${query}`);
  for (let page = first; ; page = await read(`limit=${limit}${query}&page_token=${page.next_page_token}`)) {
    items.push(...page.items);
    if (page.next_page_token === null) return { items, counts: first.counts };
  }
}

/** What the counts of these encounters have to be. */
export function countsOf(items: readonly WorklistItem[]): WorklistCounts {
  const states: Record<string, number> = { ready: 0, blocked: 0, not_completed: 0, voided: 0 };
  const rules: Record<string, number> = {};
  for (const { state, findings } of items) {
    states[state] = (states[state] ?? 0) + 1;
    for (const rule of new Set(findings.map((finding) => finding.rule))) rules[rule] = (rules[rule] ?? 0) + 1;
  }
  return { states, rules };
}

/** Runs a command on the stores of a service. */
export function inStores({ config }: TestService, ...args: string[]): Promise<CliResult> {
  return runCli(args, { env: { ...storesOf(config), DATA_DIR: config.dataDir } });
}

/** Runs a command on the workspace `clinic` of a service. */
export function inWorkspace(service: TestService, ...args: string[]): Promise<CliResult> {
  return inStores(service, ...args, '--workspace', service.workspaceId('clinic'));
}
