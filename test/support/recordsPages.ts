import type { Locator, Page, Response } from 'playwright-core';
import { startDashboard, type TestDashboard } from './dashboard.ts';
import type { TestService } from './service.ts';

/** The pages of records of the workspace `clinic`, as one browser's page shows them. */
export class RecordsPages {
  readonly page: Page;
  /** Address of them all, below `/dashboard`. */
  readonly root: string;

  constructor(page: Page, service: TestService) {
    this.page = page;
    this.root = rootOf(service);
  }

  /** A record's address, below `/dashboard`. */
  pathOf(plural: string, id: string): string {
    return `${this.root}/${plural}/${encodeURIComponent(id)}`;
  }

  show(path: string): Promise<Response | null> {
    return this.page.goto(`/dashboard${path}`);
  }

  /** Waits until the page of that heading is shown. */
  shows(heading: string): Promise<void> {
    return this.page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor();
  }

  /** The value beside a name in a list of fields. */
  field(name: string): Locator {
    const has = this.page.getByText(name, { exact: true });
    return this.page.locator('dl.facts > div').filter({ has }).locator('dd').first();
  }

  /** The headings of the timeline. */
  versions(): Promise<string[]> {
    return this.page.locator('.timeline h3').allInnerTexts();
  }

  /** A version in the timeline. */
  version(number: number): Locator {
    const has = this.page.getByRole('link', { name: `Version ${number}`, exact: true });
    return this.page.locator('.timeline > li').filter({ has });
  }
}

function rootOf(service: TestService): string {
  return `/workspaces/${service.workspaceId('clinic')}/records`;
}

/** A dashboard, and in it the pages of records as somebody of the role `compliance` sees them. */
export async function startRecordsPages(
  started?: TestService,
): Promise<{ dashboard: TestDashboard; records: RecordsPages }> {
  const dashboard = await startDashboard(started);
  const page = await dashboard.openAs('compliance', rootOf(dashboard.service));
  return { dashboard, records: new RecordsPages(page, dashboard.service) };
}

/** What people read of a part of a page, with each gap as one blank. */
export async function textOf(part: Locator): Promise<string> {
  // biome-ignore lint/performance/useDomNodeTextContent: what is hidden nobody reads
  return (await part.innerText()).replace(/\s+/g, ' ').trim();
}
