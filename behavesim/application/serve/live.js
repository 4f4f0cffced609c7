// Updates a page while its run goes on. The server defines ROOT, ADDRESS, VERSION and POLL_MS above this script.

let version = VERSION; // of the document that is shown: the server answers 304 while it is the newest
let timer;
let isAsking = false;

/** Show the newest document, then ask again after POLL_MS. A hidden tab asks when it is shown again. */
async function renew() {
  clearTimeout(timer);
  if (isAsking || document.hidden) return;
  isAsking = true;
  let wait = POLL_MS;
  try {
    // `no-store`: else the browser would answer from its own cache; null: the server cannot be reached now
    const asked = fetch(`${ROOT}document/${ADDRESS}`, { cache: "no-store", headers: { "If-None-Match": version } });
    const answer = await asked.catch(() => null);
    if (answer?.status === 200) { // 202: it is being made
      behavesim.render(await answer.json());
      version = answer.headers.get("ETag");
    } else if (answer === null || answer.status === 404) {
      document.querySelector(".state").textContent = answer ? "the run is gone" : "the server does not answer";
      version = ""; // whatever it shows next has its own state
    } else wait = Math.max(wait, 1000 * (answer.headers.get("Retry-After") ?? 0));
  } finally {
    isAsking = false;
    timer = setTimeout(renew, wait);
  }
}

// a server has the prompt and the reply of every candidate
behavesim.ask = async (candidate) => {
  const answer = await fetch(`${ROOT}texts/${candidate}/${ADDRESS}`).catch(() => null);
  return answer?.status === 200 ? answer.json() : {};
};

const experiment = ADDRESS.split("/").slice(0, -1).join("/");
const links = { "All runs": ROOT, ...(experiment && { [`Experiment ${decodeURIComponent(experiment)}`]: `${ROOT}compare?run=${experiment}/` }) };
for (const [textContent, href] of Object.entries(links).reverse()) document.getElementById("contents").prepend(Object.assign(document.createElement("a"), { href, textContent }));
document.addEventListener("visibilitychange", renew);
timer = setTimeout(renew, POLL_MS);
