import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Request } from 'express';
import type { SessionData } from 'express-session';
import { TOTP } from 'otpauth';
import {
  type Browser,
  type BrowserContext,
  chromium,
  type Locator,
  type Page,
  type Response,
} from 'playwright-core';
import { expect } from 'vitest';
import { type DashboardPorts, dashboardRoutes } from '../../src/dashboard/app.ts';
import { SessionStore, sessionsTable } from '../../src/dashboard/http/session.ts';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { SecondFactor } from '../../src/modules/auth/twoFactor.ts';
import { UserLinks, UserManager } from '../../src/modules/auth/userManager.ts';
import { ALL_WORKSPACES, type Role, UserDirectory } from '../../src/modules/auth/users.ts';
import { managedKeys } from '../../src/server/keys.ts';
import type { StateStore } from '../../src/storage/stateStore.ts';
import { Client, retryWhileLagging, type TestResponse } from './client.ts';
import { eventually } from './eventually.ts';
import { notePhi, outputFolder, phi } from './output.ts';
import { installationEvents, startTestService, type TestService } from './service.ts';
import { makeUser } from './users.ts';
import { chromiumPath } from './vitest.ts';

/** How many sessions the service keeps. */
export async function countSessions(stateStore: StateStore): Promise<number> {
  return (await stateStore.page(sessionsTable, { partition: 'sessions', limit: 10_000 })).length;
}

/** Reads a session as the service does, from the value of its cookie. */
export function readSession(stateStore: StateStore, cookie: string): Promise<SessionData | null | undefined> {
  const store = new SessionStore(stateStore, Number.MAX_SAFE_INTEGER);
  return promisify<string, SessionData | null | undefined>(store.get.bind(store))(sessionIdIn(cookie));
}

function sessionIdIn(cookie: string): string {
  return decodeURIComponent(cookie).slice('s:'.length).split('.')[0] as string;
}

/** What the service keeps of the session of a page, for tests that cannot wait until it ends. */
export class StoredSession {
  readonly #stateStore: StateStore;
  readonly #cookie: string;

  private constructor(stateStore: StateStore, cookie: string) {
    this.#stateStore = stateStore;
    this.#cookie = cookie;
  }

  /** The session by the cookie of the page's context. */
  static async of(page: Page, stateStore: StateStore): Promise<StoredSession> {
    const cookies = await page.context().cookies();
    const { value = '' } = cookies.find(({ name }) => name === 'chartledger_session') ?? {};
    return new StoredSession(stateStore, value);
  }

  /** The session of a visitor without a browser. */
  static ofVisitor({ cookies }: BrowserlessSession, stateStore: StateStore): StoredSession {
    return new StoredSession(stateStore, cookies.get('chartledger_session') ?? '');
  }

  /** When it was used last, as far as that is written down; milliseconds since 1970. */
  async lastUsed(): Promise<number> {
    return (await this.#row()).revision / 1000;
  }

  /** Makes it one that was last used so long ago. */
  async setBack(ms: number): Promise<void> {
    const row = await this.#row();
    await this.#stateStore.remove(sessionsTable, [row.id], row.revision);
    await this.#stateStore.save(sessionsTable, [{ ...row, revision: (Date.now() - ms) * 1000 }]);
  }

  /** Makes it one of a sign-in so long ago. */
  signedInBefore(ms: number): Promise<void> {
    return this.#change({ signedInAt: Date.now() - ms });
  }

  /** Makes it one whose user proved so long ago who he is. */
  provedBefore(ms: number): Promise<void> {
    return this.#change({ provedAt: Date.now() - ms });
  }

  /** Makes it one in which the time of a record that was opened with a reason is over. */
  async endOpenedRecord(): Promise<void> {
    const { openedRecord } = (await readSession(this.#stateStore, this.#cookie)) ?? {};
    if (openedRecord === undefined) throw new Error('no record is open');
    await this.#change({ openedRecord: { ...openedRecord, until: Date.now() - 1 } });
  }

  async #change(change: Partial<SessionData>): Promise<void> {
    const store = new SessionStore(this.#stateStore, Number.MAX_SAFE_INTEGER);
    const data = await readSession(this.#stateStore, this.#cookie);
    const sessionID = sessionIdIn(this.#cookie);
    const session = store.createSession({ sessionID } as Request, data as SessionData);
    await promisify<string, SessionData>(store.set.bind(store))(sessionID, Object.assign(session, change));
  }

  async #row() {
    const id = createHash('sha256').update(sessionIdIn(this.#cookie)).digest('hex');
    const [row] = await this.#stateStore.load(sessionsTable, [id]);
    if (row === undefined) throw new Error('there is no such session');
    return row;
  }
}

const PERIOD_MS = 30_000;

/** An authenticator app, whose codes are given once each. */
export class TestApp {
  readonly #secret: string;
  #lastStep = 0;

  /** `secret` as the page shows it: base32, perhaps with blanks. */
  constructor(secret: string) {
    this.#secret = secret.replaceAll(' ', '');
    notePhi(this.#secret);
  }

  /** The next code that was not given yet, as soon as it is valid: three are at once. */
  async code(): Promise<string> {
    const step = await eventually(() => {
      const now = Math.floor(Date.now() / PERIOD_MS);
      const next = Math.max(this.#lastStep + 1, now - 1);
      if (next > now + 1) throw new Error('no code is valid yet that was not given');
      return next;
    }, 2 * PERIOD_MS);
    this.#lastStep = step;
    return new TOTP({ secret: this.#secret }).generate({ timestamp: step * PERIOD_MS });
  }
}

/** Sets up an authenticator app for a user; with the user's recovery codes. */
export async function setUpApp(
  { config, eventLog }: TestService,
  { id }: TestUser,
): Promise<{ app: TestApp; recoveryCodes: string[] }> {
  const users = await UserDirectory.open(eventLog);
  const factor = new SecondFactor({
    eventLog,
    users,
    totpSecretsKey: () => managedKeys(config).totpSecrets.load(),
  });
  const user = users.find(id);
  if (user === undefined) throw new Error('there is no such user');
  const { secret, sealed } = await factor.propose(user);
  const app = new TestApp(secret);
  const actor = { principal: { type: 'operator', id: 'test' } } as const;
  const recoveryCodes = await factor.enable(user, { sealed, code: await app.code() }, actor);
  notePhi(...recoveryCodes);
  users.close();
  return { app, recoveryCodes };
}

/** From where somebody stands to what is looked for next. */
const MOST_CLICKS = 2;
/** From the beginning of a walk to its end. */
const MOST_CLICKS_OF_ALL = 6;

/** Somebody who walks from page to page to an answer, and whose clicks are counted. */
export class Walk {
  readonly page: Page;
  #clicks = 0;
  #allClicks = 0;

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
    this.#count();
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
    this.#count();
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
    this.#count();
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

  /** Ends after at most six clicks, and without having left the dashboard. */
  ends(): void {
    expect(this.#allClicks, 'clicks of the walk').toBeLessThanOrEqual(MOST_CLICKS_OF_ALL);
    expect(new URL(this.page.url()).pathname).toMatch(/^\/dashboard/);
  }

  #count(): void {
    this.#clicks += 1;
    this.#allClicks += 1;
  }
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const WAIT_MS = 15_000;

/** What Chromium does without: of two such lists, it obeys the second. */
const withoutFeatures = [
  // Playwright's, as far as they concern pages of this machine.
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades'],
  ...['HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
  // The pages of the address bar, which each context loads: half a second of processor time.
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup'],
];

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // A process for each context would take more of the processor, and no two pages are busy at once.
  '--renderer-process-limit=1',
  // A page's scripts run for less time than optimizing them takes.
  '--js-flags=--no-opt,--no-maglev',
  `--disable-features=${withoutFeatures}`,
];

/** A user whom a test may sign in. */
export interface TestUser {
  id: string;
  name: string;
  password: string;
}

/** A service whose dashboard is looked at in a real browser. */
export interface TestDashboard {
  service: TestService;
  browser: Browser;
  /** Makes a user of a role, in one workspace, or in all. */
  createUser(role: Role, workspace?: string): Promise<TestUser>;
  /** A page in a context of its own (no cookies of others), at a path below `/dashboard`; not signed in. */
  open(path: string, options?: Parameters<Browser['newContext']>[0]): Promise<Page>;
  /** A page of a user of that role, who has signed in. */
  openAs(role: Role, path: string): Promise<Page>;
  /** A page of that user, who has signed in just now. */
  openFor(user: TestUser, path: string): Promise<Page>;
  stop(): Promise<void>;
}

let lastUser = 0;
let launched: Promise<Browser> | undefined;

/** One for all suites of a worker, which goes with it; another one where it is gone. */
async function sharedBrowser(): Promise<Browser> {
  const browser = await launched;
  if (browser?.isConnected()) return browser;
  launched = chromium.launch({ executablePath: chromiumPath, args: flags });
  return launched;
}

/** Starts Chromium and, unless one is given, a service on the embedded engines. */
export async function startDashboard(started?: TestService): Promise<TestDashboard> {
  const service = started ?? (await startTestService());
  const browser = await sharedBrowser();
  const contexts: BrowserContext[] = [];
  const users = await UserDirectory.open(service.eventLog);
  const signedIn = new Map<Role, Awaited<ReturnType<BrowserContext['storageState']>>>();

  const createUser: TestDashboard['createUser'] = async (role, workspace = ALL_WORKSPACES) => {
    lastUser += 1;
    const name = `${role}-${process.pid}-${lastUser}@clinic.example`;
    const password = phi('correct horse battery');
    const id = await makeUser(users, { name, roles: { [workspace]: role }, password });
    return { id, name, password };
  };
  const open: TestDashboard['open'] = async (path, options) => {
    // Without it, axe-core may see the colours of a transition that is under way.
    const reducedMotion = 'reduce';
    const context = await browser.newContext({ baseURL: service.url, reducedMotion, ...options });
    contexts.push(context);
    // Shorter than a test may take, so that it is the page that says what is missing.
    context.setDefaultTimeout(WAIT_MS);
    const page = await context.newPage();
    await page.goto(`/dashboard${path}`);
    return page;
  };
  const openFor: TestDashboard['openFor'] = async (user, path) => {
    const page = await open('/sign-in');
    await signIn(page, user);
    await page.goto(`/dashboard${path}`);
    return page;
  };
  return {
    service,
    browser,
    createUser,
    open,
    openFor,
    async openAs(role, path) {
      const storageState = signedIn.get(role);
      if (storageState) return open(path, { storageState });
      const page = await openFor(await createUser(role), path);
      signedIn.set(role, await page.context().storageState());
      return page;
    },
    async stop() {
      await Promise.all(contexts.map((context) => context.close()));
      users.close();
      if (!started) await service.stop();
    },
  };
}

/** Fills the sign-in page and sends it. */
export async function signIn(page: Page, { name, password }: Omit<TestUser, 'id'>): Promise<void> {
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForLoadState();
}

/** Rules of axe-core about colours, which take it longest. */
const colourRules = ['color-contrast', 'link-in-text-block'];

/** Loads axe-core into the page's own world, past its Content-Security-Policy, unless it is there. */
async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(axeSource);
}

/** Fails where axe-core finds a violation on the page, in light colours, or one of contrast in dark ones. */
export async function expectAccessible(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) await expectAccessibleIn(page, colorScheme);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Fails where axe-core finds a violation on the page in light colours, or one of contrast in dark ones, which the page then has. */
export async function expectAccessibleIn(page: Page, colorScheme: 'light' | 'dark'): Promise<void> {
  await loadAxe(page);
  await page.emulateMedia({ colorScheme });
  const options = { resultTypes: ['violations'], ...(colorScheme === 'dark' && { runOnly: colourRules }) };
  // The rules that the page breaks, with the elements that do: the rest of axe-core's result need not be copied.
  const found = 'violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])';
  const run = `axe.run(${JSON.stringify(options)}).then(({ violations }) => ${found})`;
  expect(await page.evaluate(run)).toEqual([]);
}

/** Text that runs right to left and could change the order of what stands around it, with where it is. */
const unisolated = `(() => {
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode;
    if (/[\\u0590-\\u08ff]/.test(data) && !parentElement.closest('bdi, [dir="auto"], option, textarea')) found.push(parentElement.outerHTML);
  }
  return found;
})()`;

/** Fails where a value that runs right to left is not in a `bdi`, or in what isolates it as well. */
export async function expectIsolated(page: Page): Promise<void> {
  expect(await page.evaluate(unisolated)).toEqual([]);
}

/** The contrast of the focus ring with what is behind it, and of the edge of a field, for every stop of the page that has less than 3:1. */
const faintStops = `(async () => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return canvas.getImageData(0, 0, 1, 1).data;
  };
  const luminance = (colour) => {
    const [r, g, b] = [...rgba(colour)].map((value) => (value / 255 <= 0.04045 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element.parentElement; one; one = one.parentElement) {
      const { backgroundColor } = getComputedStyle(one);
      if (rgba(backgroundColor)[3] === 255) return backgroundColor;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const contrast = (...colours) => {
    const [one, other] = colours.map(luminance).sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const faint = [];
  document.activeElement.blur();
  const stops = document.querySelectorAll('a[href], button, input:not([type="hidden"]), select, textarea, summary, [tabindex="0"]');
  for (const stop of stops) {
    const edge = contrast(getComputedStyle(stop).borderTopColor, behind(stop));
    stop.focus({ focusVisible: true, preventScroll: true });
    if (document.activeElement !== stop) continue;
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(stop);
    const ring = contrast(outlineColor, behind(stop));
    if (outlineStyle === 'none' || parseFloat(outlineWidth) < 2 || ring < 3) faint.push([stop.outerHTML.slice(0, 120), outlineStyle, outlineWidth, outlineColor, ring]);
    if (stop.matches('input, select, textarea') && edge < 3) faint.push([stop.outerHTML.slice(0, 120), 'edge', edge]);
    stop.blur();
  }
  return faint;
})()`;

/** Fails where the focus is not marked by a ring of 2 px with a contrast of 3:1, or a field by such an edge, in light and in dark. */
export async function expectFocusSeen(page: Page): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    expect(await page.evaluate(faintStops)).toEqual([]);
  }
  await page.emulateMedia({ colorScheme: 'light' });
}

/** What an A4 sheet with margins of 15 mm holds, in pixels. */
const SHEET = { width: 680, height: 1010 };
const unprintable = `[
  ...[...document.querySelectorAll('.top, .side, .no-print, .actions')].filter((part) => part.offsetHeight > 0),
  ...[...document.querySelectorAll('main *')].filter((part) => part.closest('svg, pre, .visually-hidden, option') === null && part.getBoundingClientRect().right > innerWidth + 1),
].map(({ outerHTML }) => outerHTML.slice(0, 160))`;

/** Fails where a page on paper has what only a screen needs, or is cut off at the right. */
export async function expectPrintable(page: Page): Promise<void> {
  await page.setViewportSize(SHEET);
  await page.emulateMedia({ media: 'print' });
  const found = await page.evaluate(unprintable);
  await page.emulateMedia({ media: 'screen' });
  expect(found).toEqual([]);
}

/** A longer page is not looked at beyond it, in pixels: pictures of long ones take seconds. */
const MOST_HEIGHT = 3_000;

/**
 * Fails where a page is wider than a phone. With `TEST_PICTURES` set it leaves pictures of the page in light, in dark and
 * at that width, to be looked at.
 */
export async function takePictures(page: Page, name: string): Promise<void> {
  if (process.env.TEST_PICTURES) {
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await takePicture(page, `${name}-${colorScheme}`);
    }
    await page.emulateMedia({ colorScheme: 'light' });
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await takePicture(page, `${name}-phone`);
  // At that width nothing but what scrolls by itself may be wider than the page.
  const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  expect(await page.evaluate(overflow)).toBe(0);
  await page.setViewportSize({ width: 1280, height: 800 });
}

async function takePicture(page: Page, name: string): Promise<void> {
  if (!process.env.TEST_PICTURES) return;
  const width = page.viewportSize()?.width ?? 0;
  const whole = Number(await page.evaluate('document.documentElement.scrollHeight'));
  const clip = { x: 0, y: 0, width, height: Math.min(whole, MOST_HEIGHT) };
  keepPicture(`${name}.png`, await page.screenshot({ fullPage: true, clip }));
}

/** Leaves a picture, or a page as a PDF, where `TEST_PICTURES` is set. */
export function keepPicture(file: string, content: Buffer): void {
  if (!process.env.TEST_PICTURES) return;
  const folder = join(outputFolder, 'screenshots');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, file), content);
}

/** Routes that show nothing by themselves: they lead on, give a file, or a part of a page. */
const noPages = [
  '/',
  '/session',
  '/docs',
  '/sign-in/openid-connect',
  '/sign-in/openid-connect/callback',
  '/workspaces/:workspace/figures',
  '/workspaces/:workspace/events/news',
  ...['', '/diff', '/undo'].map((part) => `/workspaces/:workspace/changes${part}/counts`),
  '/workspaces/:workspace/audit/export',
  '/workspaces/:workspace/audit/report/export',
  ...['export', 'simulation/state', 'scorecard/state', 'scorecard/export'].map(
    (part) => `/workspaces/:workspace/readiness/${part}`,
  ),
  '/workspaces/:workspace/keys/:id/made',
  '/workspaces/:workspace/webhooks/:id/made',
  '/users/:user/invited',
  '/audit/export',
  '/workspaces/:workspace/changes/export',
  '/workspaces/:workspace/changes/diff/export',
  '/workspaces/:workspace/messages/:message/download',
  '/workspaces/:workspace/records/patients/:id/disclosures/export',
  ...['state', 'head', 'verified-head', 'public-key'].map(
    (part) => `/workspaces/:workspace/evidence/${part}`,
  ),
  ...['download', 'preview'].map(
    (way) => `/workspaces/:workspace/records/encounters/:id/documents/:documentId/${way}`,
  ),
  '/workspaces/:workspace/records/:kind/:id/certificate',
  '/workspaces/:workspace/records/:kind/:id/certificate/download',
  '/workspaces/:workspace/records/:kind/:id/timeline/export',
  '/workspaces/:workspace/records/:kind/:id/proof',
];

/** The path of every page of the dashboard, as its route has it. */
export const dashboardPages = dashboardRoutes({ identityProvider: {} } as DashboardPorts)
  .filter(({ method, path }) => method === 'get' && !noPages.includes(path))
  .map(({ path }) => path);

/**
 * The address of the page of a route, below `/dashboard`. `things` are what a route names, by its name (`:workspace`), by the collection
 * that an `:id` is of (`keys`), or whole addresses by the route.
 */
export function addressOf(path: string, things: Readonly<Record<string, string>>): string {
  const [, collection = ''] = /\/(keys|webhooks|encounters|requests)\/:id/.exec(path) ?? [];
  const filled = path.replace(/:\w+/g, (name) =>
    encodeURIComponent((name === ':id' && things[collection]) || (things[name] ?? '')),
  );
  return things[path] ?? filled;
}

/** Reads a patient with a key without a purpose, and returns the `event_id` of that disclosure; `reader` may `read` and `audit`. */
export async function openDisclosure(reader: Pick<Client, 'get'>, patientId: string): Promise<string> {
  const path = `/integration/patients/${encodeURIComponent(patientId)}`;
  await reader.get(path);
  const { body } = await reader.get(`${path}/disclosures?limit=1`);
  return body.items[0].event_id;
}

/** The file of a page's screenshot in `docs`. */
export function screenshotFile(path: string): string {
  const name = path.replace('/workspaces/:workspace', '/workspace').slice(1).replaceAll(/[/:]+/g, '-');
  return `docs/dashboard/images/${name}.webp`;
}

/** Visits a dashboard without a browser: keeps the cookies, and sends the token of the last page with each form. */
export class BrowserlessSession {
  readonly cookies = new Map<string, string>();
  csrf = '';
  readonly #url: string;
  readonly #headers: Record<string, string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    this.#url = url;
    this.#headers = headers;
  }

  /** `path` is below `/dashboard`. Asks again while a read model lags (`retryWhileLagging`). */
  get(path: string): Promise<TestResponse> {
    return retryWhileLagging(
      () => this.#send('GET', path),
      ({ text }) => /(?<=<p[^>]*>)Th(e|is) [a-z ]+ is (not|temporarily) [^<]*/.exec(text)?.[0],
    );
  }

  /** Sends a form; `from` is the path of the page that holds it. */
  post(path: string, form: Record<string, string>, from?: string): Promise<TestResponse> {
    const body = new URLSearchParams({ csrf_token: this.csrf, ...form }).toString();
    const referer = from === undefined ? {} : { referer: `${this.#url}/dashboard${from}` };
    return this.#send('POST', path, body, referer);
  }

  /** Sends the sign-in page's form. */
  async signIn({ name, password }: Omit<TestUser, 'id'>, next?: string): Promise<TestResponse> {
    await this.get('/sign-in');
    return this.post('/sign-in', { name, password, ...(next !== undefined && { next }) });
  }

  /** Whether it is: others are sent to the sign-in page. */
  async isSignedIn(): Promise<boolean> {
    return (await this.get('/account')).status === 200;
  }

  async #send(
    method: string,
    path: string,
    body?: string,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const answer = await new Client(this.#url, undefined).send(`/dashboard${path}`, {
      method,
      headers: {
        ...this.#headers,
        ...headers,
        ...(this.cookies.size > 0 && { cookie: [...this.cookies].map((pair) => pair.join('=')).join('; ') }),
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
    });
    for (const cookie of [answer.headers['set-cookie'] ?? []].flat()) this.#keep(cookie);
    this.csrf = /name="csrf_token" value="([^"]+)"/.exec(answer.text)?.[1] ?? this.csrf;
    return answer;
  }

  /** Goes on with the cookies of somebody else, such as a page's. */
  takeOver(cookies: { name: string; value: string }[]): void {
    for (const { name, value } of cookies) this.cookies.set(name, value);
  }

  #keep(cookie: string): void {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    if (value === '') this.cookies.delete(name);
    else this.cookies.set(name, value);
  }
}

const EVIDENCE_WAIT_MS = 60_000;

/** The page of evidence of a service's workspace `clinic`, as compliance staff visit it. */
export class EvidencePage {
  readonly visitor: BrowserlessSession;
  readonly userName: string;
  readonly userId: string;
  readonly #service: TestService;

  private constructor(service: TestService, visitor: BrowserlessSession, user: { id: string; name: string }) {
    this.#service = service;
    this.visitor = visitor;
    this.userId = user.id;
    this.userName = user.name;
  }

  static async open(service: TestService): Promise<EvidencePage> {
    const users = await UserDirectory.open(service.eventLog);
    const [name, password] = [phi('compliance@clinic.example'), phi('correct horse battery')];
    const id = await makeUser(users, { name, role: 'compliance', password });
    users.close();
    const visitor = await eventually(async () => {
      const visiting = new BrowserlessSession(service.url);
      await visiting.signIn({ name, password });
      expect(await visiting.isSignedIn()).toBe(true);
      return visiting;
    });
    return new EvidencePage(service, visitor, { id, name });
  }

  /** Below `/dashboard`. */
  path(what = ''): string {
    return `/workspaces/${this.#service.workspaceId('clinic')}/evidence${what}`;
  }

  /** The page's words, with one blank between each. */
  async text(): Promise<string> {
    const { text } = await this.visitor.get(this.path());
    return text.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ');
  }

  /** The page's words, once a verification that was asked for just now has ended. */
  async verified(): Promise<string> {
    await this.visitor.get(this.path());
    expect((await this.visitor.post(this.path('/verify'), {})).status).toBe(303);
    return eventually(async () => {
      const text = await this.text();
      expect(text).toMatch(/Ended \w{3} \d+, \d{4}/);
      return text;
    }, EVIDENCE_WAIT_MS);
  }
}

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

  /** The status of a page that is not shown. */
  async status(path: string): Promise<number> {
    return (await this.page.request.get(`/dashboard${path}`)).status();
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

  /** A version of the record in its timeline. */
  version(number: number): Locator {
    const has = this.page.getByRole('heading', {
      name: new RegExp(`^(?:Patient|Payer|Encounter), version ${number}$`),
    });
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

let lastAddress = 0;

/**
 * Somebody new, of that role in one workspace or in all, who has signed in to the dashboard of a service; with the user's id. Behind a
 * trusted proxy, at an address that nobody had before.
 */
export async function signedIn(
  service: TestService,
  role: Role,
  workspace = ALL_WORKSPACES,
): Promise<{ visitor: BrowserlessSession; id: string }> {
  const user = { name: phi(`${role}@clinic.example`), password: phi('correct horse battery') };
  const users = await UserDirectory.open(service.eventLog);
  const id = await makeUser(users, { ...user, roles: { [workspace]: role } });
  users.close();
  lastAddress += 1;
  const visitor = new BrowserlessSession(service.url, { 'x-forwarded-for': `198.18.0.${lastAddress}` });
  // Where the service is slow to learn of a new user, it refuses the first attempts.
  await eventually(async () => {
    expect((await visitor.signIn(user)).status).toBe(303);
  });
  return { visitor, id };
}

/** A service with a dashboard, and what tests of its users need beside. */
export interface UserTests {
  service: TestService;
  dashboard: TestDashboard;
  users: UserDirectory;
  manager: UserManager;
  links: UserLinks;
  /** Somebody at an IP address that nobody had before: sign-ins are limited by it. */
  visitor(url?: string): BrowserlessSession;
  /** The events that `work` had appended about users and sign-ins. */
  events(work: () => Promise<unknown>): Promise<RecordedEvent[]>;
  stop(): Promise<void>;
}

export async function startUserTests(env: Record<string, string> = {}): Promise<UserTests> {
  const service = await startTestService({ TRUST_PROXY: '1', ...env });
  const dashboard = await startDashboard(service);
  const users = await UserDirectory.open(service.eventLog);
  const actor = { principal: { type: 'operator', id: 'test' } } as const;
  let lastAddress = 0;
  return {
    service,
    dashboard,
    users,
    manager: new UserManager(users, actor),
    links: new UserLinks(users, actor),
    visitor(url = service.url) {
      lastAddress += 1;
      return new BrowserlessSession(url, { 'x-forwarded-for': `192.0.2.${lastAddress}` });
    },
    events: (work) => installationEvents(service, work),
    async stop() {
      users.close();
      await dashboard.stop();
      await service.stop();
    },
  };
}
