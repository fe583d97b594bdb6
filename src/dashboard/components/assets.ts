import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire, findPackageJSON } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { Router } from 'express';

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

export type AssetName = keyof typeof files;

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
export function assetPath(name: AssetName): string {
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
