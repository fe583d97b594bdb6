import { fhirRoutes } from '../../src/api/routes/fhirResources.ts';
import { tokenRoutes } from '../../src/api/routes/fhirToken.ts';
import type { AppPorts } from '../../src/api/routes/index.ts';
import { code, page, table } from './markdown.ts';
import { openApi } from './openApi.ts';

/** FHIR's requests, which its CapabilityStatement and its SMART configuration describe instead of the OpenAPI document. */
const fhirSummaries: Record<string, string> = {
  'GET /fhir/.well-known/smart-configuration': 'Read where and how access tokens are requested',
  'POST /fhir/token': 'Exchange a signed assertion for an access token',
  'GET /fhir/metadata': 'Read the CapabilityStatement',
  'POST /fhir': 'Send a Bundle of type `batch` or `transaction`',
  'POST /fhir/$import': 'Send resources as Bulk Data',
  'POST /fhir/{type}': 'Send a resource',
  'PUT /fhir/{type}/{id}': 'Send a resource under its id',
};

function fhirRows(): string[][] {
  const routes = [...tokenRoutes({} as Parameters<typeof tokenRoutes>[0]), ...fhirRoutes({} as AppPorts)];
  return routes.map(({ method, endpoint: { route, permission } }) => {
    const request = `${method.toUpperCase()} ${route.replaceAll(/:(\w+)/g, '{$1}')}`;
    const summary = fhirSummaries[request];
    if (summary === undefined) throw new Error(`${request} has no summary for the reference`);
    return [code(request), access(permission), summary];
  });
}

function access(permission: string | readonly string[]): string {
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
    '## FHIR R4',
    '[Send FHIR R4](../guides/fhir.md) explains these requests; `GET /fhir/metadata` describes them.',
    table(['request', 'permission', 'does'], fhirRows()),
  );
}
