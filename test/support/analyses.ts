import type { Page } from 'playwright-core';
import { v7 as uuidv7 } from 'uuid';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { readinessCountsStream } from '../../src/domain/events/streams.ts';

import type { TestService } from './service.ts';

const DAY_MS = 86_400_000;
const LONG_MS = 60_000;

/** Appends what the service would have counted at the end of each of the last days: a number of blocked encounters each. */
export async function countDays(service: TestService, workspace: string, blocked: readonly number[]) {
  const principal = { type: 'service', id: 'readiness' } as const;
  const today = Date.now();
  for (const [index, count] of blocked.entries()) {
    const day = new Date(today - (blocked.length - index) * DAY_MS).toISOString().slice(0, 10);
    const data = {
      day,
      states: { blocked: count, ready: 2 },
      rules: { blocked: { facility_tax_id: count } },
    };
    const event = newEvent({ workspace, principal, requestId: uuidv7() }, 'ReadinessCounted', data);
    await service.eventLog.append(readinessCountsStream(workspace), { ...event, id: uuidv7() }, 'any');
  }
}

/** Has a scorecard made and settings simulated on the pages of a workspace, and waits for both. */
export async function analyse(page: Page, workspace: string): Promise<void> {
  const root = `/dashboard/workspaces/${workspace}/readiness`;
  await page.goto(`${root}/scorecard`);
  await page.getByRole('button', { name: 'Generate scorecard' }).click();
  await showFound(page);
  await page.goto(`${root}/simulation`);
  await page.locator('summary', { hasText: 'Rules' }).click();
  await page.getByLabel('The facility has an EIN').selectOption('off');
  await page.getByLabel('Filing limit for all payers, in days').fill('365');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await showFound(page);
}

/** It is drawn by itself that the run has ended, unless it had before. */
async function showFound(page: Page): Promise<void> {
  const link = page.getByRole('link', { name: 'Show the result' });
  const ended = page.getByText('Ended', { exact: true });
  await link.or(ended).waitFor({ timeout: LONG_MS });
  if (await link.isVisible()) await link.click();
  await ended.waitFor();
}
