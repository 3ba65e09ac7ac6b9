// Runs sample.bpf.h as a program: what a softirq is to a probe, a timer's signal is here. Every byte of
// socket n is n, so a sample that holds two sockets shows it. Prints corrupted, emitted, nested.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <signal.h>
#include <sys/time.h>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

template <class T, int N> struct Array {
	T entries[N];
	T *lookup(int *key) { return *key < N ? &entries[*key] : nullptr; }
};
template <class T> struct Hash {
	T *lookup(u64 *) { return nullptr; }
	void update(u64 *, T *) {}
};
struct Perf {
	int perf_submit(void *, struct sample *s, size_t);
};
#define BPF_PERF_OUTPUT(name) Perf name
#define BPF_PERCPU_ARRAY(name, type, count) Array<type, count> name
#define BPF_ARRAY(name, type, count) Array<type, count> name
#define BPF_TABLE(kind, key, type, name, count) Hash<type> name
#define BPF_HASH(name, key, type, count) Hash<type> name

static u8 sockets[4][4096];
#define DEEPEST 16
#define NESTED 5000
#define MOST 100000000L

static volatile unsigned long corrupted, emitted, nested;
static volatile int depth;

static long bpf_probe_read_kernel(void *to, size_t size, void *from)
{
	if (from < (void *)sockets || from >= (void *)(sockets + 4))
		return -14;
	for (size_t i = 0; i < size; i++)
		((volatile u8 *)to)[i] = ((u8 *)from)[i];
	return 0;
}
static u64 bpf_ktime_get_ns(void) { return 1; }

#include HEADER

int Perf::perf_submit(void *, struct sample *s, size_t)
{
	u8 id = ((u8 *)s->sk)[0];
	u32 word = id * 0x01010101u;
	bool good = s->snd_una == word && s->delivered == word && s->packets_out == word;

	for (int i = 0; i < CA_SIZE; i++)
		good = good && s->ca[i] == id;
	emitted++;
	nested += depth > 0;
	corrupted += !good;
	return 0;
}

static void probe(int number) { emit_plain(nullptr, (u64)sockets[number], EVENT_ACK, 0); }

static void interrupt(int)
{
	// Where a handler takes longer than the timer, signals would fill the stack.
	if (depth >= DEEPEST)
		return;
	depth++;
	probe(1 + depth % 3);
	depth--;
}

int main(int, char **argv)
{
	struct sigaction action = {};
	struct itimerval every = {{0, 20}, {0, 20}};

	for (int n = 0; n < 4; n++)
		memset(sockets[n], n + 1, sizeof(sockets[n]));
	action.sa_handler = interrupt;
	action.sa_flags = SA_NODEFER;
	sigaction(SIGALRM, &action, nullptr);
	setitimer(ITIMER_REAL, &every, nullptr);
	// A busy machine interrupts at fewer moments: on, until there were enough of them.
	for (long i = atol(argv[1]); i > 0 || (nested < NESTED && i > -MOST); i--)
		probe(0);
	every = {};
	setitimer(ITIMER_REAL, &every, nullptr);
	printf("%lu %lu %lu\n", corrupted, emitted, nested);
	for (int n = 0; n < SLOTS; n++)
		if (slots.entries[n].busy)
			return 1;
	return 0;
}
