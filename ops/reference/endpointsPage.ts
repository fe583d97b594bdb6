import { code, page, table } from './markdown.ts';
import { openApi } from './openApi.ts';

function access(permission: string | string[]): string {
  if (permission === 'public') return 'no key';
  if (permission === 'key') return 'any key';
  return [permission].flat().map(code).join(' or ');
}

/** `docs/reference/endpoints.md` */
export function endpointsPage(): string {
  const rows = Object.entries(openApi.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => [
      code(`${method.toUpperCase()} ${path}`),
      access(operation['x-permission']),
      operation.summary,
    ]),
  );
  return page(
    'Endpoints',
    'Every request that the service answers, with the permission that the API key needs. `GET /openapi/json` has the ' +
      'parameters, bodies, answers and errors of each (OpenAPI 3.1.0), and so has the API reference of the dashboard.',
    table(['request', 'permission', 'does'], rows),
  );
}
