import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { expect } from 'vitest';
import { ALL_WORKSPACES, type Role, UserDirectory } from '../../src/modules/auth/users.ts';

import { chromiumPath } from './chromium.ts';
import { makeUser } from './makeUser.ts';
import { outputFolder } from './output.ts';
import { phi } from './phi.ts';
import { startTestService, type TestService } from './service.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const WAIT_MS = 15_000;

const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
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

/** Fails where axe-core finds a violation on the page, in light colours, or one of contrast in dark ones. */
export async function expectAccessible(page: Page): Promise<void> {
  // Into the page's own world, past its Content-Security-Policy.
  await page.evaluate(axeSource);
  expect(await violations(page, 'light', {})).toEqual([]);
  expect(await violations(page, 'dark', { runOnly: colourRules })).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
}

/** Fails where axe-core finds a violation on the page that has nothing to do with colours. */
export async function expectOperable(page: Page): Promise<void> {
  await page.evaluate(axeSource);
  const rules = Object.fromEntries(colourRules.map((rule) => [rule, { enabled: false }]));
  expect(await violations(page, 'light', { rules })).toEqual([]);
}

/** The rules of axe-core that a page breaks, with the elements that do. */
async function violations(page: Page, colorScheme: 'light' | 'dark', options: object) {
  await page.emulateMedia({ colorScheme });
  const run = `axe.run(document, ${JSON.stringify({ resultTypes: ['violations'], ...options })})`;
  const { violations } = (await page.evaluate(run)) as AxeResults;
  return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
}

interface AxeResults {
  violations: { id: string; nodes: { html: string }[] }[];
}

/** A longer page is not looked at beyond it, in pixels: pictures of long ones take seconds. */
const MOST_HEIGHT = 3_000;

/**
 * Fails where a page is wider than a phone. With `TEST_PICTURES` set it leaves pictures of the page in light, in dark and
 * at that width, to be looked at.
 */
export async function takePictures(page: Page, name: string): Promise<void> {
  await page.setViewportSize({ width: 1280, height: 800 });
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await takePicture(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
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
