/**
 * The circles of a graph, each as a path that begins and ends with the same node, one for each strongly connected
 * component (Tarjan 1972, https://doi.org/10.1137/0201010).
 */
export function findCircles(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const index = new Map<string, number>();
  const low = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];

  const visit = (node: string): void => {
    index.set(node, index.size);
    low.set(node, index.get(node)!);
    stack.push(node);
    for (const next of graph.get(node) ?? []) {
      if (!index.has(next)) {
        visit(next);
        low.set(node, Math.min(low.get(node)!, low.get(next)!));
      } else if (stack.includes(next)) {
        low.set(node, Math.min(low.get(node)!, index.get(next)!));
      }
    }
    if (low.get(node) !== index.get(node)) return;
    const component = new Set(stack.splice(stack.indexOf(node)));
    if (component.size > 1 || graph.get(node)?.includes(node)) circles.push(pathAround(graph, component));
  };

  for (const node of graph.keys()) {
    if (!index.has(node)) visit(node);
  }
  return circles;
}

/** A shortest way from the first node of a component back to it. */
function pathAround(graph: ReadonlyMap<string, readonly string[]>, component: ReadonlySet<string>): string[] {
  const start = [...component].sort()[0]!;
  const from = new Map<string, string>();
  const queue = [start];
  for (let node = queue.shift(); node !== undefined; node = queue.shift()) {
    for (const next of graph.get(node) ?? []) {
      if (next === start) {
        const path = [start];
        for (let each: string | undefined = node; each !== undefined; each = from.get(each)) {
          path.unshift(each);
        }
        return path;
      }
      if (!component.has(next) || from.has(next)) continue;
      from.set(next, node);
      queue.push(next);
    }
  }
  return [...component];
}
