import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';

/** From where somebody stands to what is looked for next. */
const MOST_CLICKS = 2;

/** Somebody who walks from page to page to an answer, and whose clicks are counted. */
export class Walk {
  readonly page: Page;
  #clicks = 0;

  private constructor(page: Page) {
    this.page = page;
  }

  /** Begins on a page. `path` is below `/dashboard`. */
  static async from(page: Page, path: string): Promise<Walk> {
    await page.goto(`/dashboard${path}`);
    return new Walk(page);
  }

  /** Opens what leads on, or sends a form. */
  async click(target: Locator): Promise<void> {
    this.#clicks += 1;
    await target.click();
  }

  /** Fills a field, in which a click puts the cursor. */
  async type(field: Locator, text: string): Promise<void> {
    await this.click(field);
    await field.fill(text);
  }

  /** Searches with the box that every page has. */
  async search(text: string): Promise<void> {
    await this.type(this.page.getByRole('searchbox', { name: 'Search this workspace' }), text);
    await this.enter();
  }

  /** Sends the form in which the cursor is; it takes as much as a click. */
  async enter(): Promise<void> {
    this.#clicks += 1;
    await this.page.keyboard.press('Enter');
  }

  /** Follows the link of a name. */
  follow(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole('link', { name }).first());
  }

  /** Presses a button, or a link that looks like one. */
  press(name: string | RegExp): Promise<void> {
    return this.click(this.page.getByRole('button', { name }).first());
  }

  async back(): Promise<void> {
    this.#clicks += 1;
    await this.page.goBack();
  }

  /** Sees what was looked for, with at most two clicks since what was seen before. */
  async sees(found: string | RegExp | Locator): Promise<void> {
    const main = this.page.locator('main');
    await (typeof found === 'string' || found instanceof RegExp ? main.getByText(found) : found)
      .first()
      .waitFor();
    expect(this.#clicks, `clicks to ${String(found)}`).toBeLessThanOrEqual(MOST_CLICKS);
    this.#clicks = 0;
  }
}
