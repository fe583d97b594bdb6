import type { ClaimPart, UsedVersion } from '../../../domain/events/encounterReadiness.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import { type Billing, billingPrincipals } from '../../../modules/readiness/billing.ts';
import type { Readiness } from '../../../modules/readiness/readReadiness.ts';
import { changedAfterBilling } from '../../../modules/readiness/rules/changedAfterBilling.ts';
import type { Fault } from '../../../modules/readiness/rules/rule.ts';
import { noSettings } from '../../../modules/readiness/rules/ruleSettings.ts';
import type { PrincipalNames } from '../../../modules/records/queries/PrincipalNames.ts';
import { facts } from '../../components/facts.ts';
import { fieldLabel } from '../../components/fieldLabel.ts';
import { type Html, html } from '../../components/html.ts';
import { who } from '../../components/principal.ts';
import { comparePath, recordPath } from '../../components/recordPaths.ts';
import { code, time } from '../../components/text.ts';

const parts: Record<ClaimPart, string> = {
  encounter: 'Encounter',
  patient: 'Patient',
  payer: 'Payer',
  provider: 'Billing provider',
  rendering_provider: 'Rendering provider',
  facility: 'Facility',
};

/** Returns what has changed in what the claim carries, whether or not the workspace applies the rule. */
export function changesSince({ facts }: Readiness): Fault[] {
  return changedAfterBilling.check(facts, noSettings);
}

/**
 * Resolves with what was last billed for an encounter: the claim, by whom, on which versions it is based, what has
 * changed since, and why that is acceptable; undefined before it was billed.
 */
export async function billedSummary(
  workspace: string,
  names: PrincipalNames,
  readiness: Readiness,
): Promise<Html | undefined> {
  const { billing } = readiness;
  if (billing === undefined) return undefined;
  await names.learn(billingPrincipals(billing));
  const { claimId, versions, acknowledged } = billing;
  const by = ({ at, principal }: Pick<Billing, 'at' | 'principal'>) =>
    html`${time(at)}<br>${who({ ...principal, name: names.nameOf(principal) ?? null })}`;
  return html`${facts([
    ['Claim', code(claimId)],
    ['Billed', by(billing)],
    ['Versions', versionList(workspace, versions)],
    ...(acknowledged
      ? ([
          ['Changes acknowledged', by(acknowledged)],
          ['Reason', acknowledged.reason],
          ['Up to', versionList(workspace, acknowledged.versions)],
        ] as const)
      : []),
  ])}
${changeList(workspace, changesSince(readiness), acknowledged !== undefined)}`;
}

/**
 * Returns what has changed since an encounter was billed, or since that was last acknowledged, each with links to
 * both versions.
 */
function changeList(workspace: string, changes: readonly Fault[], isAcknowledged: boolean): Html {
  const since = isAcknowledged ? 'since it was acknowledged' : 'since';
  if (changes.length === 0) return html`<p>Nothing in the claim has changed ${since}.</p>`;
  return html`<p>Claim data that has changed ${since}:</p>
<ul>${changes.map(({ record: { kind, id, version }, field, billedVersion = version }) => {
    const path = comparePath(workspace, kind, id, billedVersion, version);
    return html`<li>${catalogEntry(kind).title}: ${fieldLabel(field)} (<a href="/dashboard${path}">versions ${billedVersion} and ${version}</a>)</li>`;
  })}</ul>`;
}

function versionList(workspace: string, versions: readonly UsedVersion[]): Html {
  return html`<ul class="plain">${versions.map(
    ({ part, kind, id, version }) =>
      html`<li><a href="/dashboard${recordPath(workspace, kind, id)}?version=${version}">${parts[part]}, version ${version}</a></li>`,
  )}</ul>`;
}
