import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { Router } from 'express';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import { type Role, roleIn, type User } from '../../modules/auth/users.ts';
import { helpLine } from './help.ts';
import {
  admins,
  everyone,
  type Html,
  type HtmlValue,
  html,
  integrators,
  type Page,
  phiReaders,
  recordReaders,
  requestReaders,
  trailReaders,
} from './page.ts';
import { badge, bdi } from './text.ts';
import { reasonPath } from './urls.ts';

/** Returns the address of a workspace's search, below `/dashboard`; of one search, or of what it found of a kind, where these are given. */
export function searchPath(workspace: string, number?: number, kind?: string): string {
  return `/workspaces/${workspace}/search${number === undefined ? '' : `?n=${number}`}${kind === undefined ? '' : `&kind=${kind}`}`;
}

/** Returns the box on every page. What is typed is sent in the body: no name is in an address. */
function searchBox(workspace: string, csrf: Html): Html {
  return html`<form method="post" action="/dashboard${searchPath(workspace)}" class="search-box" role="search">
${csrf}
<label class="visually-hidden" for="search-box">Search this workspace</label>
<input id="search-box" name="q" type="search" maxlength="200" placeholder="Search (press /)" autocomplete="off" data-focus-key="/">
</form>`;
}

const require = createRequire(import.meta.url);
const ownFolder = join(dirname(findPackageJSON('.', import.meta.url) as string), 'assets');

/** The parts of `dashboard.css`: later ones override earlier ones. */
const styles = ['base', 'layout', 'overview', 'reference', 'events', 'records', 'tables'];

/** What pages load, by the names that they use, and the files of which it consists. */
const files = {
  'pico.css': [require.resolve('@picocss/pico/css/pico.min.css')],
  'dashboard.css': styles.map((name) => join(ownFolder, 'styles', `${name}.css`)),
  'htmx.js': [require.resolve('htmx.org/dist/htmx.min.js')],
  'dashboard.js': [join(ownFolder, 'dashboard.js')],
  'logo.svg': [join(ownFolder, 'logo.svg')],
};

type AssetName = keyof typeof files;

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

interface Asset {
  /** Below `/dashboard`, with a hash of the content in it. */
  path: string;
  type: string;
  content: Buffer;
}

function load([name, parts]: [string, string[]]): [string, Asset] {
  const content = Buffer.concat(parts.map((file) => readFileSync(file)));
  const hash = createHash('sha256').update(content).digest('hex').slice(0, 16);
  const extension = extname(name);
  const path = `/assets/${name.slice(0, -extension.length)}.${hash}${extension}`;
  return [name, { path, type: types[extension] as string, content }];
}

let loaded: Map<string, Asset> | undefined;

/** Read when the first page is requested: a service without visitors does not hold them. */
function assets(): Map<string, Asset> {
  loaded ??= new Map(Object.entries(files).map(load));
  return loaded;
}

/** Returns the address of an asset; it changes with the asset's content. */
function assetPath(name: AssetName): string {
  return `/dashboard${assets().get(name)?.path}`;
}

/** Serves the assets, to be cached by browsers indefinitely. */
export function assetRouter(): Router {
  const router = Router();
  router.get('/assets/:file', ({ path }, res, next) => {
    const asset = [...assets().values()].find((one) => one.path === path);
    if (asset === undefined) {
      next();
      return;
    }
    res.set({ 'Content-Type': asset.type, 'Cache-Control': 'public, max-age=31536000, immutable' });
    res.end(asset.content);
  });
  return router;
}

interface Section {
  name: string;
  /** Below `/dashboard`, or below the workspace's address. */
  path: string;
  /** Undefined: every user. */
  roles?: readonly Role[];
}

/** The menu: the sections of each workspace. */
const workspaceSections: Section[] = [
  { name: 'Overview', path: '', roles: everyone },
  { name: 'Records', path: '/records', roles: recordReaders },
  { name: 'Readiness', path: '/readiness', roles: recordReaders },
  { name: 'Events', path: '/events', roles: everyone },
  { name: 'Messages', path: '/messages', roles: requestReaders },
  { name: 'Requests', path: '/requests', roles: requestReaders },
  { name: 'Changes', path: '/changes', roles: phiReaders },
  { name: 'Audit trail', path: '/audit', roles: trailReaders },
  { name: 'Evidence', path: '/evidence', roles: trailReaders },
  { name: 'Legal holds', path: '/holds', roles: phiReaders },
  { name: 'Returned records', path: '/returned', roles: phiReaders },
  { name: 'API keys', path: '/keys', roles: integrators },
  { name: 'Sources', path: '/sources', roles: requestReaders },
  { name: 'Webhooks', path: '/webhooks', roles: integrators },
  { name: 'Notifications', path: '/notifications', roles: everyone },
];

/** The menu: the sections that exist once, for users with a role in all workspaces. */
const installationSections: Section[] = [
  { name: 'Workspaces', path: '/workspaces', roles: admins },
  { name: 'Users', path: '/users', roles: admins },
  { name: 'Sign-ins', path: '/audit', roles: trailReaders },
  { name: 'System', path: '/system', roles: everyone },
  { name: 'API reference', path: '/reference' },
  { name: 'Documentation', path: '/docs' },
];

/** What every page shows besides its body. */
interface Surroundings {
  /** Undefined before the sign-in. */
  user: User | undefined;
  /** The workspace to which the menu leads. */
  workspace: string | undefined;
  workspaces: readonly Pick<Workspace, 'id' | 'sandbox'>[];
  notices: readonly string[];
  csrf: Html;
  /** Why the user reads in the workspace, if that was stated. */
  reason: string | undefined;
  /** Where that is changed, this leads back to, including `/dashboard`; undefined: to the overview. */
  address: string | undefined;
  /** How long the session lasts without use; undefined where nobody is signed in. */
  sessionSeconds: number | undefined;
  /** The route of the page, to which its line of help belongs. */
  route: string;
}

/** Returns a whole document. */
export function layout(page: Page, around: Surroundings): Html {
  const { title, section, body, status } = page;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="htmx-config" content='{"includeIndicatorStyles": false, "allowEval": false, "selfRequestsOnly": true}'>
<title>${isFailure(status) && 'Error: '}${title} · Chartledger</title>
<link rel="icon" type="image/svg+xml" href="${assetPath('logo.svg')}">
<link rel="stylesheet" href="${assetPath('pico.css')}">
<link rel="stylesheet" href="${assetPath('dashboard.css')}">
<script src="${assetPath('dashboard.js')}"></script>
<script src="${assetPath('htmx.js')}" defer></script>
</head>
<body>
<a class="skip-link" href="#main">Skip to content</a>
${top(around)}
${around.sessionSeconds !== undefined && sessionEnd(around.sessionSeconds)}
<div class="frame${around.user ? '' : section === undefined ? ' frame-narrow' : ' frame-open'}">
${around.user && side(around.user, around, section)}
<main id="main" tabindex="-1">
${around.reason !== undefined && statedLine(around.reason, around)}
${helpLine(around.route, page)}
<div role="status">${around.notices.map((text) => html`<p class="notice">${text}</p>`)}</div>
${body}
</main>
</div>
</body>
</html>
`;
}

/** Reminds of what the audit trail has with everything that is opened. */
function statedLine(reason: string, { workspace, address }: Surroundings): Html {
  return html`<p class="read-reason no-print"><span class="muted">Reason:</span> <span title="${reason}">${bdi(reason)}</span> <a href="/dashboard${reasonPath(String(workspace), address)}">Change</a></p>`;
}

/** Shown by the script some minutes before the session ends. */
function sessionEnd(seconds: number): Html {
  return html`<div class="session-end no-print" role="alert" data-session-seconds="${seconds}" hidden><span></span> <button type="button" class="outline">Stay signed in</button></div>`;
}

/**
 * Whether a page reports that something did not work. 403 asks for a proof or names a role, 410 shows what was
 * erased.
 */
function isFailure(status = 200): boolean {
  return status >= 400 && status !== 403 && status !== 410;
}

function top({ user, workspace, csrf }: Surroundings): Html {
  return html`<header class="top">
${user && html`<button type="button" class="menu-button outline secondary" popovertarget="side">Menu</button>`}
<a class="brand" href="/dashboard" aria-label="Chartledger"><img src="${assetPath('logo.svg')}" alt="" width="22" height="22"><span>Chartledger</span></a>
${user && workspace !== undefined && mayOpen(user, workspace, recordReaders) && searchBox(workspace, csrf)}
${!user && themeButton}
</header>`;
}

const themeButton = html`<button type="button" class="theme-button outline secondary" data-theme-toggle hidden>Dark</button>`;

/** What leads elsewhere: beside the page, or on a phone behind the button of its bar. */
function side(user: User, around: Surroundings, section: string | undefined): Html {
  const { workspace, workspaces, csrf } = around;
  return html`<div class="side" id="side" popover>
${workspaces.length > 0 && switcher(user, workspace, workspaces, section)}
${menu(user, around, section)}
<details class="dropdown user-menu">
<summary><span title="${user.name}">${bdi(user.name)}</span></summary>
<ul>
<li><a href="/dashboard/account">Account</a></li>
${workspace !== undefined && html`<li><a href="/dashboard${reasonPath(workspace, around.address)}">Reason for reads</a></li>`}
<li><form method="post" action="/dashboard/sign-out">${csrf}<button type="submit" class="link-button">Sign out</button></form></li>
</ul>
</details>
${themeButton}
</div>`;
}

/** Marks every page of a workspace that is only for tests. */
function sandboxMark(isSandbox: boolean | undefined): Html | undefined {
  return isSandbox ? html` ${badge('Sandbox', 'neutral')}` : undefined;
}

/** Leads to the same section of another workspace, where the user may open it there; else to its overview. */
function switcher(
  user: User,
  workspace: string | undefined,
  workspaces: Surroundings['workspaces'],
  section: string | undefined,
): Html {
  const { path = '', roles = everyone } = workspaceSections.find(({ name }) => name === section) ?? {};
  const pathIn = (id: string) => (mayOpen(user, id, roles) ? path : '');
  const current = workspaces.find(({ id }) => id === workspace);
  return html`<details class="dropdown workspace-menu">
<summary><span title="${workspace}"><span class="muted">${current?.sandbox ? 'Sandbox' : 'Workspace'}</span> ${workspace ?? 'none'}</span></summary>
<ul>${workspaces.map(
    ({ id, sandbox }) =>
      html`<li><a href="/dashboard/workspaces/${id}${pathIn(id)}"${id === workspace && html` aria-current="true"`}>${id}${sandboxMark(sandbox)}</a></li>`,
  )}</ul>
</details>`;
}

function mayOpen(user: User, workspace: string | undefined, roles: readonly Role[]): boolean {
  const role = roleIn(user, workspace);
  return role !== undefined && roles.includes(role);
}

function menu(user: User, { workspace }: Surroundings, current: string | undefined): Html {
  const links = (sections: Section[], base: string, scope?: string) =>
    sections
      .filter(({ roles }) => roles === undefined || mayOpen(user, scope, roles))
      .map(
        ({ name, path }) =>
          html`<li><a href="${base}${path}"${name === current && html` aria-current="page"`}>${name}</a></li>`,
      );
  return html`<nav class="menu" aria-label="Main">
${workspace !== undefined && html`<ul>${links(workspaceSections, `/dashboard/workspaces/${workspace}`, workspace)}</ul>`}
<ul>${links(installationSections, '/dashboard')}</ul>
</nav>`;
}

/** Returns a button that opens a menu of these. */
export function dropdown(text: string, items: readonly Html[]): Html {
  return html`<details class="dropdown"><summary role="button" class="outline secondary">${text}</summary><ul>${items.map((item) => html`<li>${item}</li>`)}</ul></details>`;
}

interface Crumb {
  text: HtmlValue;
  /** Below `/dashboard`. */
  path: string;
}

/** Returns the way to a page: what is above it, outermost first. */
export function breadcrumb(crumbs: readonly Crumb[]): Html {
  return html`<nav class="breadcrumb" aria-label="Breadcrumb"><ol>${crumbs.map(
    ({ text, path }) =>
      html`<li><a href="/dashboard${path}">${typeof text === 'string' ? bdi(text) : text}</a></li>`,
  )}</ol></nav>`;
}

/** A page among many, or a group of them. */
export interface ContentsEntry {
  /** Unique among all entries. */
  id: string;
  title: string;
  /** Its address as used in links. */
  path: string;
  entries?: readonly ContentsEntry[];
}

/**
 * Returns the contents of what consists of many pages; only the entries above and below the page `current` are open. On a phone a
 * button opens them.
 */
export function contents(label: string, entries: readonly ContentsEntry[], current: string): Html {
  return html`<details class="contents-menu"><summary role="button" class="outline secondary">Contents</summary>
<nav aria-label="${label}">${contentsList(entries, current)}</nav></details>`;
}

function contentsList(list: readonly ContentsEntry[], current: string): Html {
  return html`<ul>${list.map((entry) => {
    const { id, title, path, entries = [] } = entry;
    const isOpen = entries.length > 0 && leadsTo(entry, current);
    return html`<li><a href="${path}"${id === current && html` aria-current="page"`}>${title}</a>${isOpen && contentsList(entries, current)}</li>`;
  })}</ul>`;
}

function leadsTo({ id, entries = [] }: ContentsEntry, current: string): boolean {
  return id === current || entries.some((entry) => leadsTo(entry, current));
}
