// Runs sample.bpf.h as a program: what a softirq is to a probe, another probe is here that begins at a
// chosen step of it. Every byte of socket n is n, so a sample that holds two sockets shows it.
// Interrupts a probe at each of its steps, the one that interrupts it at each of its own, and so on
// DEEP times; prints corrupted, emitted, emitted while another was made, and lost for want of a slot.
#include <cstdint>
#include <cstdio>
#include <cstring>

typedef uint64_t u64;
typedef int64_t s64;
typedef uint32_t u32;
typedef uint16_t u16;
typedef uint8_t u8;

#define DEEP 3
#define DEEPEST 16

static u8 sockets[4][4096];
static long corrupted, emitted, nested;
static int depth, steps[DEEPEST + 1], interrupted_at[DEEPEST + 1];

static void probe(int number);

// Between any two steps another probe may begin. The deepest ones are interrupted by none.
static void step()
{
	if (depth == DEEPEST || ++steps[depth] != interrupted_at[depth])
		return;
	depth++;
	steps[depth] = 0;
	probe(1 + depth % 3);
	depth--;
}

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

static long bpf_probe_read_kernel(void *to, size_t size, void *from)
{
	if (from < (void *)sockets || from >= (void *)(sockets + 4))
		return -14;
	step();
	memcpy(to, from, size / 2);
	step();
	memcpy((u8 *)to + size / 2, (u8 *)from + size / 2, size - size / 2);
	return 0;
}
static u64 bpf_ktime_get_ns(void) { return 1; }

static void add(u64 *place, int by)
{
	step();
	*place += by;
	step();
}
#define __sync_fetch_and_add add

#include HEADER

int Perf::perf_submit(void *, struct sample *s, size_t)
{
	step();
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

static int run()
{
	steps[0] = 0;
	probe(0);
	return steps[0];
}

static void run_all(int from, int count)
{
	if (from == DEEP) {
		run();
		return;
	}
	for (int at = 1; at <= count; at++) {
		interrupted_at[from] = at;
		run_all(from + 1, count);
	}
	interrupted_at[from] = 0;
}

int main()
{
	for (int n = 0; n < 4; n++)
		memset(sockets[n], n + 1, sizeof(sockets[n]));
	int count = run();
	run_all(0, count);
	// More at once than there are slots.
	for (int at = 1; at <= count; at++) {
		for (int n = 0; n < DEEPEST; n++)
			interrupted_at[n] = at;
		run();
	}
	printf("%d %ld %ld %ld %llu\n", count, corrupted, emitted, nested,
	       (unsigned long long)lost.entries[LOST_NESTED]);
	for (int n = 0; n < SLOTS; n++)
		if (slots.entries[n].busy)
			return 1;
	return 0;
}
