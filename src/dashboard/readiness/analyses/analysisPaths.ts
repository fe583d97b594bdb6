/** The page of a workspace's simulations, below `/dashboard` as it stands in links. */
export function simulationPath(workspace: string): string {
  return `/dashboard/workspaces/${workspace}/readiness/simulation`;
}

/** The page of its scorecards. */
export function scorecardPath(workspace: string): string {
  return `/dashboard/workspaces/${workspace}/readiness/scorecard`;
}
