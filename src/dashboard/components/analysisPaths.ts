/** Returns the page of a workspace's simulations, below `/dashboard`, as used in links. */
export function simulationPath(workspace: string): string {
  return `/dashboard/workspaces/${workspace}/readiness/simulation`;
}

/** Returns the page of its scorecards. */
export function scorecardPath(workspace: string): string {
  return `/dashboard/workspaces/${workspace}/readiness/scorecard`;
}
