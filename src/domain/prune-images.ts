/** The facts about an image that pruning needs. */
export interface PrunableImage {
  readonly id: string;
  readonly role: string;
  readonly project: string | null;
  readonly tags: readonly string[];
  readonly createdAt: Date;
}

/**
 * Plans which images to remove: all but the newest image of this project, base images that are no longer current, probe
 * images but the newest, and images that lost their names. With `own`, every image of this project and no other; with
 * `all`, every image that swarm made. Without `all`, other projects' images stay.
 */
export function planPrune<Image extends PrunableImage>(
  images: readonly Image[],
  {
    project,
    all,
    own: onlyOwn = false,
    current,
  }: {
    readonly project: string | null;
    readonly all: boolean;
    readonly own?: boolean;
    readonly current: readonly string[];
  },
): Image[] {
  // An image that a user built upon one of swarm's inherits its labels, but belongs to that user.
  const ours = images.filter(({ tags }) => tags.every((tag) => /^aimi-sandbox[:-]/.test(tag)));
  if (all) return ours;

  const own = ours.filter((image) => image.role === "project-image" && image.project === project);
  if (onlyOwn) return own;
  const probes = ours.filter(({ role }) => role === "probe-image");
  const kept = new Set([...newestOf(own), ...newestOf(probes)]);
  return ours.filter((image) => {
    if (kept.has(image) || image.tags.some((tag) => current.includes(tag))) return false;
    switch (image.role) {
      case "project-image":
        return image.project === project;
      case "base-image":
      case "probe-image":
        return true;
      default:
        return false;
    }
  });
}

/** The newest images with a name. Engines report an image's time in seconds, so there may be several. */
function newestOf<Image extends PrunableImage>(images: readonly Image[]): Image[] {
  const named = images.filter(({ tags }) => tags.length > 0);
  const newest = Math.max(...named.map(({ createdAt }) => createdAt.getTime()));
  return named.filter(({ createdAt }) => createdAt.getTime() === newest);
}
