/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three sources of binaries: those that frameworks left in their caches
 * (fixtures), those that nvcc makes here, with `ptxas -v` as the oracle, and a
 * small one put together below, for faults that no tool makes.
 */
#include "../../src/dep/elf.h"

#include "../lib/harness.h"

#include <criterion/criterion.h>
#include <elf.h>
#include <glob.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- helpers ---- */

static void must_parse(const void *data, size_t len, struct kb_elf *ret)
{
	struct kbundle_error err = {0};

	cr_assert_eq(kb_elf_parse(data, len, ret, &err), 0, "%s", err.message);
}

static void must_refuse(const void *data, size_t len, const char *phrase)
{
	struct kbundle_error err = {0};
	struct kb_elf elf = {0};

	cr_assert_eq(kb_elf_parse(data, len, &elf, &err), KBUNDLE_E_FORMAT,
		     "%s", phrase);
	cr_assert_eq(err.code, KBUNDLE_E_FORMAT);
	cr_assert_not_null(strstr(err.message, phrase), "%s, not %s",
			   err.message, phrase);
}

/* Parses from read-only memory that ends where the bytes end. */
static int parse_at_the_brink(const void *data, size_t len, struct kb_elf *ret)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (len / page + 1) * page;
	char *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r;

	cr_assert_neq(map, MAP_FAILED);
	memcpy(map + room - len, data, len);
	cr_assert_eq(mprotect(map, room, PROT_READ), 0);
	cr_assert_eq(mprotect(map + room, page, PROT_NONE), 0);
	r = kb_elf_parse(map + room - len, len, ret, NULL);
	munmap(map, room + page);
	return r;
}

static const struct kb_elf_kernel *find_kernel(const struct kb_elf *elf,
					       const char *name)
{
	for (size_t i = 0; i < elf->n_kernels; i++)
		if (strcmp(elf->kernels[i].name, name) == 0)
			return &elf->kernels[i];
	return NULL;
}

static char *read_fixture(const char *tree, const char *pattern, size_t *ret)
{
	char dir[KB_TEST_PATH_MAX], path[KB_TEST_PATH_MAX + 128];
	glob_t found;
	char *data;

	if (!kb_test_fixture(dir, tree))
		cr_skip_test("fixture %s is not there", tree);
	snprintf(path, sizeof(path), "%s/%s", dir, pattern);
	cr_assert_eq(glob(path, 0, NULL, &found), 0, "%s", path);
	cr_assert_eq(found.gl_pathc, 1, "%s", path);
	data = kb_test_read(found.gl_pathv[0], "", ret);
	cr_assert_not_null(data);
	globfree(&found);
	return data;
}

/* ---- binaries of frameworks ---- */

Test(elf, tells_what_triton_made_for_cuda)
{
	static const struct {
		const char *tree, *pattern;
		unsigned abi;
		const char *target, *tool, *kernel;
	} cases[] = {
		{"triton-2.1.0-cuda", "*/add_kernel.cubin", 7, "cuda:sm_75", "",
		 "add_kernel_0d1d2d3"},
		{"triton-2.1.0-cuda", "*/matmul_kernel.cubin", 7, "cuda:sm_80",
		 "", "matmul_kernel_0d1d2d345678"},
		{"triton-2.1.0-cuda", "*/softmax_kernel.cubin", 7,
		 "cuda:sm_90a", "", "softmax_kernel_0d1d234"},
		{"triton-3.1.0-cuda", "*/layernorm_kernel.cubin", 7,
		 "cuda:sm_90a", "", "layernorm_kernel"},
		{"triton-3.1.0-cuda", "*/reduce_kernel.cubin", 7, "cuda:sm_80",
		 "", "reduce_kernel"},
		{"triton-3.2.0-cuda", "*/add_kernel.cubin", 7, "cuda:sm_75", "",
		 "add_kernel"},
		{"triton-3.4.0-cuda", "*/layernorm_kernel.cubin", 8,
		 "cuda:sm_100a", "12.8.93", "layernorm_kernel"},
		{"triton-3.9.0-cuda", "*/add_kernel.cubin", 7, "cuda:sm_75", "",
		 "add_kernel"},
		{"triton-3.9.0-cuda", "*/softmax_kernel.cubin", 8,
		 "cuda:sm_90a", "13.4.59", "softmax_kernel"},
		{"triton-3.9.0-cuda", "*/layernorm_kernel.cubin", 8,
		 "cuda:sm_100a", "13.4.59", "layernorm_kernel"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		KB_AUTO_FREE char *data = NULL;
		size_t len;

		data = read_fixture(cases[i].tree, cases[i].pattern, &len);
		must_parse(data, len, &elf);
		cr_assert_eq(elf.kind, KB_ELF_CUBIN);
		cr_assert_eq(elf.machine, EM_CUDA);
		cr_assert_eq(elf.abi_version, cases[i].abi);
		cr_assert_str_eq(elf.target.text, cases[i].target);
		cr_assert_str_eq(elf.tool, cases[i].tool);
		cr_assert(elf.has_debug);
		cr_assert_eq(elf.n_kernels, 1);
		cr_assert_str_eq(elf.kernels[0].name, cases[i].kernel);
		cr_assert(kb_elf_has_kernel(&elf, cases[i].kernel));
		cr_assert_not(kb_elf_has_kernel(&elf, "other"));
		cr_assert_gt(elf.kernels[0].registers, 0);
		/* Triton's kernels have only dynamic shared memory. */
		cr_assert_eq(elf.kernels[0].shared_bytes, 0);
	}
}

/* Up to ABI 7 and sm_80 the section of the code tells the registers too. */
Test(elf, both_places_of_the_registers_agree)
{
	static const char *const names[] = {"add", "reduce", "matmul"};

	for (size_t i = 0; i < 3; i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		KB_AUTO_FREE char *data = NULL;
		char pattern[64], wanted[64];
		size_t len;
		const Elf64_Ehdr *header;
		const Elf64_Shdr *sections;
		bool found = false;

		snprintf(pattern, sizeof(pattern), "*/%s_kernel.cubin",
			 names[i]);
		snprintf(wanted, sizeof(wanted), ".text.%s_kernel", names[i]);
		data = read_fixture("triton-3.1.0-cuda", pattern, &len);
		must_parse(data, len, &elf);
		header = (const Elf64_Ehdr *)(void *)data;
		sections = (const Elf64_Shdr *)(void *)(data + header->e_shoff);
		for (size_t k = 0; k < header->e_shnum; k++) {
			const char *name =
				data + sections[header->e_shstrndx].sh_offset +
				sections[k].sh_name;

			if (strcmp(name, wanted) != 0)
				continue;
			found = true;
			cr_assert_eq(elf.kernels[0].registers,
				     sections[k].sh_info >> 24);
		}
		cr_assert(found);
	}
}

Test(elf, tells_what_triton_made_for_amd)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	KB_AUTO_FREE char *data = NULL;
	size_t len;

	data = read_fixture("triton-3.9.0-hip", "*/softmax_kernel.hsaco", &len);
	must_parse(data, len, &elf);
	cr_assert_eq(elf.kind, KB_ELF_HSACO);
	cr_assert_eq(elf.machine, EM_AMDGPU);
	cr_assert_eq(elf.sm, 0);
	cr_assert_eq(elf.suffix, 0);
	cr_assert_str_eq(elf.target.text, "hip:gfx942");
	cr_assert_eq(elf.n_kernels, 1);
	cr_assert_str_eq(elf.kernels[0].name, "softmax_kernel");
	cr_assert(kb_elf_has_kernel(&elf, "softmax_kernel"));
	cr_assert_not(kb_elf_has_kernel(&elf, "softmax_kernel.kd"));
}

Test(elf, amd_flags_give_processor_and_features)
{
	static const struct {
		unsigned abi;
		uint32_t flags;
		const char *target;
	} cases[] = {
		{2, 0x53f, "hip:gfx90a"},
		{3, 0x54c, "hip:gfx942"},
		{4, 0x64c, "hip:gfx942:xnack-"},
		{3, 0x74c, "hip:gfx942:xnack+"},
		{3, 0x93f, "hip:gfx90a:sramecc-"},
		{3, 0xd3f, "hip:gfx90a:sramecc+"},
		{3, 0xe3f, "hip:gfx90a:sramecc+:xnack-"},
		{3, 0x041, "hip:gfx1100"},
		{3, 0x048, "hip:gfx1200"},
		{3, 0x04f, "hip:gfx950"},
		{3, 0x032, "hip:gfx90c"},
		/* code object version 3: other bits for the features */
		{1, 0x33f, "hip:gfx90a"},
		/* no processor, reserved, generic, not known yet */
		{3, 0x000, ""},
		{3, 0x027, ""},
		{4, 0x01000051, ""},
		{3, 0x0ff, ""},
	};
	KB_AUTO_FREE char *data = NULL;
	size_t len;

	data = read_fixture("triton-3.9.0-hip", "*/add_kernel.hsaco", &len);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};

		data[EI_ABIVERSION] = (char)cases[i].abi;
		memcpy(data + offsetof(Elf64_Ehdr, e_flags), &cases[i].flags,
		       4);
		must_parse(data, len, &elf);
		cr_assert_str_eq(elf.target.text, cases[i].target);
		cr_assert_eq(elf.n_kernels, 1);
	}
}

Test(elf, a_shared_object_is_host_code)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	KB_AUTO_FREE char *data = NULL;
	size_t len;

	data = kb_test_read("/proc/self/exe", "", &len);
	cr_assert_not_null(data);
	must_parse(data, len, &elf);
	cr_assert_eq(elf.kind, KB_ELF_HOST);
	cr_assert_str_eq(elf.target.text, "");
	cr_assert_eq(elf.n_kernels, 0);
}

/* ---- binaries of nvcc ---- */

static const char source[] =
	"extern \"C\" __global__ void alpha(float *p, int n)\n"
	"{\n"
	"	__shared__ float s[256];\n"
	"	int t = threadIdx.x;\n"
	"	s[t] = t < n ? p[t] : 0.f;\n"
	"	__syncthreads();\n"
	"	for (int d = 128; d > 0; d >>= 1) {\n"
	"		if (t < d) s[t] += s[t + d];\n"
	"		__syncthreads();\n"
	"	}\n"
	"	if (!t) p[0] = s[0];\n"
	"}\n"
	"extern \"C\" __global__ void beta(double *p, const double *q, int n)\n"
	"{\n"
	"	double a[16];\n"
	"	for (int i = 0; i < 16; i++) a[i] = q[threadIdx.x + i];\n"
	"	for (int k = 0; k < n; k++)\n"
	"		for (int i = 0; i < 16; i++)\n"
	"			a[i] = a[i] * a[(i + 5) % 16] + q[k];\n"
	"	for (int i = 0; i < 16; i++) p[threadIdx.x + i] = a[i];\n"
	"}\n"
	"__device__ __noinline__ int helper(int x, int *q)\n"
	"{\n"
	"	return q[x] * 3;\n"
	"}\n"
	"extern \"C\" __global__ void gamma_(int *p, int *q)\n"
	"{\n"
	"	extern __shared__ int d[];\n"
	"	__shared__ char c[100];\n"
	"	d[threadIdx.x] = p[threadIdx.x];\n"
	"	c[threadIdx.x % 100] = 1;\n"
	"	__syncthreads();\n"
	"	p[threadIdx.x] = helper(d[threadIdx.x ^ 1], q) + c[5];\n"
	"}\n"
	"template<typename T> __global__ void mold(T *p) { p[0] = 1; }\n"
	"template __global__ void mold<int>(int *);\n";

/* Compiles for one architecture; *ret_log is what `ptxas -v` said. */
static char *compile(const char *arch, size_t *ret_len, char **ret_log)
{
	char dir[KB_TEST_PATH_MAX], command[KB_TEST_PATH_MAX + 256];
	char *cubin;
	int status = -1;

	if (!kb_test_run((char *[]){"nvcc", "--version", NULL}, NULL, NULL,
			 &status) ||
	    status != 0) {
		fprintf(stderr, "skipped: nvcc is not there\n");
		cr_skip_test("nvcc is not there");
	}
	kb_test_tmpdir(dir);
	kb_test_write_text(dir, "k.cu", source);
	snprintf(command, sizeof(command),
		 "cd '%s' && nvcc -arch=%s -cubin -Xptxas -v k.cu -o k.cubin "
		 "2>&1",
		 dir, arch);
	cr_assert(kb_test_run((char *[]){"sh", "-c", command, NULL}, ret_log,
			      NULL, &status));
	cr_assert_eq(status, 0, "%s", *ret_log);
	cubin = kb_test_read(dir, "k.cubin", ret_len);
	cr_assert_not_null(cubin);
	kb_test_remove(dir);
	return cubin;
}

/* Compares with the lines "Compiling entry function 'NAME'" and "Used N
 * registers, …, M bytes smem" of ptxas. Returns how many kernels it told of. */
static size_t compare_with_ptxas(const struct kb_elf *elf, const char *log)
{
	size_t n = 0;

	while ((log = strstr(log, "Compiling entry function '"))) {
		const struct kb_elf_kernel *kernel;
		const char *used, *end, *smem;
		char name[128] = "";
		unsigned registers = 0, shared = 0;

		cr_assert_eq(
			sscanf(log, "Compiling entry function '%127[^']", name),
			1);
		used = strstr(log, "Used ");
		cr_assert_not_null(used);
		cr_assert_eq(sscanf(used, "Used %u registers", &registers), 1);
		end = strchr(used, '\n');
		smem = strstr(used, " bytes smem");
		if (smem && smem < end) {
			while (smem[-1] != ' ')
				smem--;
			cr_assert_eq(sscanf(smem, "%u", &shared), 1);
		}
		kernel = find_kernel(elf, name);
		cr_assert_not_null(kernel, "%s", name);
		cr_assert_eq(kernel->registers, registers, "%s: %u, not %u",
			     name, kernel->registers, registers);
		cr_assert_eq(kernel->shared_bytes, shared, "%s: %u, not %u",
			     name, kernel->shared_bytes, shared);
		n++;
		log = used;
	}
	return n;
}

Test(elf, agrees_with_ptxas)
{
	static const struct {
		const char *arch;
		unsigned sm;
		char suffix;
	} cases[] = {
		{"sm_75", 75, 0},      {"sm_80", 80, 0},
		{"sm_89", 89, 0},      {"sm_90", 90, 0},
		{"sm_90a", 90, 'a'},   {"sm_100a", 100, 'a'},
		{"sm_100f", 100, 'f'}, {"sm_120", 120, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		KB_AUTO_FREE char *cubin = NULL, *log = NULL;
		char target[32];
		size_t len;

		cubin = compile(cases[i].arch, &len, &log);
		must_parse(cubin, len, &elf);
		snprintf(target, sizeof(target), "cuda:%s", cases[i].arch);
		cr_assert_eq(elf.kind, KB_ELF_CUBIN);
		cr_assert_eq(elf.sm, cases[i].sm);
		cr_assert_eq(elf.suffix, cases[i].suffix, "%s", cases[i].arch);
		cr_assert_str_eq(elf.target.text, target);
		cr_assert_gt(strlen(elf.tool), 3);
		cr_assert_eq(elf.n_kernels, 4);
		for (size_t k = 1; k < elf.n_kernels; k++)
			cr_assert_lt(strcmp(elf.kernels[k - 1].name,
					    elf.kernels[k].name),
				     0);
		cr_assert_not(kb_elf_has_kernel(&elf, "helper"));
		cr_assert_eq(compare_with_ptxas(&elf, log), 4, "%s", log);
	}
}

Test(elf, a_note_about_another_sm_gives_no_suffix)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	KB_AUTO_FREE char *cubin = NULL, *log = NULL;
	char *note;
	size_t len;

	cubin = compile("sm_90a", &len, &log);
	note = memmem(cubin, len, "-arch sm_90a", 12);
	cr_assert_not_null(note);
	note[10] = '1';
	must_parse(cubin, len, &elf);
	cr_assert_str_eq(elf.target.text, "cuda:sm_90");
}

Test(elf, every_truncation_of_a_cubin_is_refused)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	KB_AUTO_FREE char *cubin = NULL, *log = NULL;
	size_t len;

	cubin = compile("sm_80", &len, &log);
	cr_assert_eq(parse_at_the_brink(cubin, len, &elf), 0);
	for (size_t cut = 0; cut < len; cut++) {
		struct kb_elf none = {0};

		cr_assert_eq(parse_at_the_brink(cubin, cut, &none),
			     KBUNDLE_E_FORMAT, "%zu of %zu", cut, len);
	}
}

/* ---- a small one, and faults ---- */

enum {
	NAMES = 1,
	STRINGS,
	SYMBOLS,
	TEXT,
	INFO,
	SHARED,
	DEBUG,
	SPARE,
	SECTIONS
};

static const char section_names[] = "\0.shstrtab\0.strtab\0.symtab\0.text.k\0"
				    ".nv.info\0.nv.shared.k\0.debug_line\0";

/* A cubin of sm_80 with one kernel, k: 33 registers, 5000 bytes of shared
 * memory. */
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[SECTIONS];
	Elf64_Sym symbols[3];
	uint32_t info[3];
	char names[sizeof(section_names)];
	char strings[16];
	char text[64];
};

static Elf64_Word name_of(const char *name)
{
	const char *at = memmem(section_names, sizeof(section_names), name,
				strlen(name) + 1);

	cr_assert_not_null(at);
	return (Elf64_Word)(at - section_names);
}

static void set_section(struct image *image, size_t i, const char *name,
			Elf64_Word type, size_t offset, size_t size)
{
	image->sections[i].sh_name = name_of(name);
	image->sections[i].sh_type = type;
	image->sections[i].sh_offset = offset;
	image->sections[i].sh_size = size;
}

#define SET(image, i, name, type, member)                                      \
	set_section(image, i, name, type, offsetof(struct image, member),      \
		    sizeof((image)->member))

static void make_image(struct image *image)
{
	Elf64_Ehdr *header = &image->header;

	memset(image, 0, sizeof(*image));
	memcpy(header->e_ident,
	       "\x7f"
	       "ELF\x02\x01\x01\x33\x07",
	       9);
	header->e_type = ET_EXEC;
	header->e_machine = EM_CUDA;
	header->e_version = 1;
	header->e_flags = 0x500550;
	header->e_ehsize = sizeof(*header);
	header->e_phoff = offsetof(struct image, segment);
	header->e_phentsize = sizeof(Elf64_Phdr);
	header->e_phnum = 1;
	header->e_shoff = offsetof(struct image, sections);
	header->e_shentsize = sizeof(Elf64_Shdr);
	header->e_shnum = SECTIONS;
	header->e_shstrndx = NAMES;
	image->segment.p_type = PT_LOAD;
	image->segment.p_offset = offsetof(struct image, text);
	image->segment.p_filesz = sizeof(image->text);
	memcpy(image->names, section_names, sizeof(section_names));
	memcpy(image->strings, "\0k\0other", 8);
	SET(image, NAMES, ".shstrtab", SHT_STRTAB, names);
	SET(image, STRINGS, ".strtab", SHT_STRTAB, strings);
	SET(image, SYMBOLS, ".symtab", SHT_SYMTAB, symbols);
	SET(image, TEXT, ".text.k", SHT_PROGBITS, text);
	SET(image, INFO, ".nv.info", SHT_LOPROC, info);
	SET(image, DEBUG, ".debug_line", SHT_PROGBITS, text);
	set_section(image, SHARED, ".nv.shared.k", SHT_NOBITS, 1U << 30, 5000);
	image->sections[SYMBOLS].sh_link = STRINGS;
	image->sections[SYMBOLS].sh_entsize = sizeof(Elf64_Sym);
	image->sections[SHARED].sh_info = TEXT;
	image->symbols[1].st_name = 1;
	image->symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
	image->symbols[1].st_other = 0x10;
	image->symbols[1].st_shndx = TEXT;
	image->info[0] = 0x00082f04;
	image->info[1] = 1;
	image->info[2] = 33;
}

Test(elf, reads_the_small_one)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	struct image image;

	make_image(&image);
	cr_assert_eq(parse_at_the_brink(&image, sizeof(image), &elf), 0);
	cr_assert_str_eq(elf.target.text, "cuda:sm_80");
	cr_assert_eq(elf.n_kernels, 1);
	cr_assert_str_eq(elf.kernels[0].name, "k");
	cr_assert_eq(elf.kernels[0].registers, 33);
	cr_assert_eq(elf.kernels[0].shared_bytes, 5000);
	cr_assert(elf.has_debug);
	cr_assert_str_eq(kb_elf_kind_name(elf.kind), "cubin");
}

Test(elf, reads_from_any_address)
{
	static char room[sizeof(struct image) + 16];
	struct image image;

	make_image(&image);
	for (size_t shift = 0; shift < 16; shift++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};

		memcpy(room + shift, &image, sizeof(image));
		must_parse(room + shift, sizeof(image), &elf);
		cr_assert_eq(elf.kernels[0].registers, 33);
	}
}

Test(elf, flags_and_abi_give_the_target)
{
	static const struct {
		char abi;
		uint32_t flags;
		const char *target;
	} cases[] = {
		{7, 0x4b054b, "cuda:sm_75"},
		{7, 0x5a0d5a, "cuda:sm_90a"},
		{7, 0x5a055a, "cuda:sm_90"},
		{8, 0x06005a04, "cuda:sm_90"},
		{8, 0x0900640a, "cuda:sm_100"},
		{8, 0x06007802, "cuda:sm_120"},
		{9, 0x06007802, ""}, /* not known: not guessed */
		{6, 0x4b054b, ""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		struct image image;

		make_image(&image);
		image.header.e_ident[EI_ABIVERSION] = (uint8_t)cases[i].abi;
		image.header.e_flags = cases[i].flags;
		must_parse(&image, sizeof(image), &elf);
		cr_assert_str_eq(elf.target.text, cases[i].target);
		cr_assert_eq(elf.n_kernels, 1);
	}
}

Test(elf, debug_sections_are_told_by_their_names)
{
	static const struct {
		const char *name;
		bool debug;
	} cases[] = {
		{".debug_line", true},	{".debug_info", true},
		{".debugxline", false}, {"xdebug_line", false},
		{".nv_debug_x", true},	{".zdebug_lin", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		struct image image;

		make_image(&image);
		cr_assert_eq(strlen(cases[i].name), strlen(".debug_line"));
		memcpy(image.names + name_of(".debug_line"), cases[i].name, 11);
		must_parse(&image, sizeof(image), &elf);
		cr_assert_eq(elf.has_debug, cases[i].debug, "%s",
			     cases[i].name);
	}
}

Test(elf, only_entry_functions_with_their_code_are_kernels)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	struct image image;

	make_image(&image);
	image.symbols[1].st_other = 0;
	must_parse(&image, sizeof(image), &elf);
	cr_assert_eq(elf.n_kernels, 0);
	cr_assert_not(kb_elf_has_kernel(&elf, "k"));

	make_image(&image);
	image.symbols[1].st_name = 3; /* "other", in .text.k */
	must_parse(&image, sizeof(image), &elf);
	cr_assert_eq(elf.n_kernels, 0);

	make_image(&image);
	image.symbols[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	must_parse(&image, sizeof(image), &elf);
	cr_assert_eq(elf.n_kernels, 0);

	make_image(&image);
	image.symbols[1].st_shndx = SHN_ABS;
	must_parse(&image, sizeof(image), &elf);
	cr_assert_eq(elf.n_kernels, 0);
}

Test(elf, attributes_that_do_not_fit_tell_nothing)
{
	static const uint32_t damaged[][3] = {
		{0xffff2f04, 1, 33}, /* longer than its section */
		{0x00042f04, 1, 33}, /* not this attribute's length */
		{0x00082f04, 3, 33}, /* a symbol that is not there */
		{0x00082f04, ~0U, 33},
		{0x00083004, 1, 33}, /* another attribute */
	};

	for (size_t i = 0; i < sizeof(damaged) / sizeof(damaged[0]); i++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		struct image image;

		make_image(&image);
		memcpy(image.info, damaged[i], sizeof(image.info));
		must_parse(&image, sizeof(image), &elf);
		cr_assert_eq(elf.kernels[0].registers, 0, "%zu", i);
	}
}

Test(elf, faults_of_the_structure_are_named)
{
	struct image image;

	must_refuse("", 0, "is no ELF file");
	must_refuse("\x7f"
		    "ELG",
		    4, "is no ELF file");
	must_refuse("\x7f"
		    "ELF",
		    4, "cut short after 4 bytes");
	make_image(&image);
	image.header.e_ident[EI_CLASS] = ELFCLASS32;
	must_refuse(&image, sizeof(image), "no 64-bit little-endian");
	make_image(&image);
	image.header.e_ident[EI_DATA] = ELFDATA2MSB;
	must_refuse(&image, sizeof(image), "no 64-bit little-endian");
	make_image(&image);
	image.header.e_shentsize = 63;
	must_refuse(&image, sizeof(image), "items of 63 bytes");
	make_image(&image);
	image.header.e_phentsize = 32;
	must_refuse(&image, sizeof(image), "items of 32 bytes");
	make_image(&image);
	image.header.e_shnum = 1000;
	must_refuse(&image, sizeof(image), "section table has 1000 items");
	make_image(&image);
	image.header.e_shoff = UINT64_MAX - 63;
	must_refuse(&image, sizeof(image), "section table begins at byte");
	make_image(&image);
	image.header.e_phoff = sizeof(image) - 8;
	must_refuse(&image, sizeof(image), "segment table ends at byte");
	make_image(&image);
	image.segment.p_filesz = sizeof(image);
	must_refuse(&image, sizeof(image), "segment 0 ends at byte");
	make_image(&image);
	image.segment.p_offset = UINT64_MAX;
	must_refuse(&image, sizeof(image), "segment 0 begins at byte");
	make_image(&image);
	image.header.e_shstrndx = SECTIONS;
	must_refuse(&image, sizeof(image), "section");
	make_image(&image);
	image.header.e_shstrndx = TEXT;
	must_refuse(&image, sizeof(image), "no table of strings");
}

Test(elf, faults_of_sections_and_symbols_are_named)
{
	struct image image;

	make_image(&image);
	image.sections[TEXT].sh_size = 9000;
	must_refuse(&image, sizeof(image), "section 4 (.text.k) ends at byte");
	make_image(&image);
	image.sections[TEXT].sh_offset = UINT64_MAX - 8;
	must_refuse(&image, sizeof(image), "section 4 (.text.k) begins at");
	make_image(&image);
	image.sections[TEXT].sh_link = SECTIONS;
	must_refuse(&image, sizeof(image), "links to section 9 of 9");
	make_image(&image);
	image.sections[TEXT].sh_name = sizeof(section_names);
	must_refuse(&image, sizeof(image), "section 4 has its name outside");
	make_image(&image);
	image.sections[NAMES].sh_size--;
	image.names[sizeof(section_names) - 2] = 'x';
	must_refuse(&image, sizeof(image), "no table of strings");
	make_image(&image);
	image.strings[15] = 'x';
	must_refuse(&image, sizeof(image), "has no table of names (section 2)");
	make_image(&image);
	image.symbols[1].st_name = 16;
	must_refuse(&image, sizeof(image), "symbol 1 has its name outside");
	make_image(&image);
	image.symbols[2].st_shndx = SECTIONS;
	must_refuse(&image, sizeof(image), "symbol 2 is in section 9 of 9");
	make_image(&image);
	image.sections[SYMBOLS].sh_size--;
	must_refuse(&image, sizeof(image), "no table of whole symbols");
	make_image(&image);
	image.sections[SYMBOLS].sh_entsize = 0;
	must_refuse(&image, sizeof(image), "no table of whole symbols");
	make_image(&image);
	image.sections[SPARE] = image.sections[SYMBOLS];
	must_refuse(&image, sizeof(image), "is a second table of symbols");
	make_image(&image);
	image.symbols[2] = image.symbols[1];
	must_refuse(&image, sizeof(image), "kernel \"k\" is there twice");
	make_image(&image);
	image.sections[SHARED].sh_size = 1ULL << 32;
	must_refuse(&image, sizeof(image), "4294967296 bytes of shared memory");
	make_image(&image);
	image.strings[1] = '\xff';
	image.names[name_of(".text.k") + 6] = '\xff';
	must_refuse(&image, sizeof(image), "is not UTF-8");
}

/* More sections than the header can count: the first section tells. */
Test(elf, counts_in_the_first_section_are_checked)
{
	KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
	struct image image;

	make_image(&image);
	image.header.e_shnum = 0;
	image.sections[0].sh_size = SECTIONS;
	must_parse(&image, sizeof(image), &elf);
	cr_assert_eq(elf.n_kernels, 1);
	image.sections[0].sh_size = UINT64_MAX / 64;
	must_refuse(&image, sizeof(image), "section table has");
	make_image(&image);
	image.header.e_phnum = PN_XNUM;
	image.sections[0].sh_info = UINT32_MAX;
	must_refuse(&image, sizeof(image), "segment table has 4294967295");
}

/* A thousand kernels that share one long name must not become a thousand
 * copies of it. */
Test(elf, names_may_not_outgrow_the_file)
{
	const size_t n = 1000, name_len = 20000;
	size_t symbols_at = sizeof(struct image);
	size_t names_at = symbols_at + n * sizeof(Elf64_Sym);
	size_t len = names_at + name_len + 8;
	KB_AUTO_FREE char *data = calloc(1, len);
	struct image image;

	cr_assert_not_null(data);
	make_image(&image);
	memcpy(data + names_at, ".text.", 6);
	memset(data + names_at + 6, 'k', name_len);
	image.sections[SPARE].sh_type = SHT_STRTAB;
	image.sections[SPARE].sh_offset = names_at;
	image.sections[SPARE].sh_size = len - names_at;
	image.header.e_shstrndx = SPARE;
	for (size_t i = 0; i < SECTIONS; i++)
		image.sections[i].sh_name = 0;
	image.sections[SYMBOLS].sh_offset = symbols_at;
	image.sections[SYMBOLS].sh_size = n * sizeof(Elf64_Sym);
	image.sections[SYMBOLS].sh_link = SPARE;
	memcpy(data, &image, sizeof(image));
	image.symbols[1].st_name = 6;
	for (size_t i = 0; i < n; i++)
		memcpy(data + symbols_at + i * sizeof(Elf64_Sym),
		       &image.symbols[1], sizeof(Elf64_Sym));
	must_refuse(data, len, "names of kernels are longer than the file");
}

static void check_flips(const char *data, size_t len, uint64_t seed, int rounds)
{
	KB_AUTO_FREE char *copy = malloc(len);

	cr_assert_not_null(copy);
	for (int round = 0; round < rounds; round++) {
		KB_AUTO(kb_elf_release) struct kb_elf elf = {0};
		int r;

		memcpy(copy, data, len);
		for (int flip = 0; flip <= round % 5; flip++) {
			size_t at;

			seed = seed * 6364136223846793005U +
			       1442695040888963407U;
			/* every other one into the first 2 KiB: the headers */
			at = (seed >> 33) %
			     (round % 2 && len > 2048 ? 2048 : len);
			copy[at] = (char)(copy[at] ^ 1 << (seed >> 29 & 7));
		}
		r = parse_at_the_brink(copy, len, &elf);
		cr_assert(r == 0 || r == KBUNDLE_E_FORMAT, "round %d", round);
	}
}

Test(elf, flipped_bits_never_crash_the_small_one)
{
	struct image image;

	make_image(&image);
	check_flips((const char *)&image, sizeof(image), 1, 20000);
}

Test(elf, flipped_bits_never_crash_a_cubin)
{
	KB_AUTO_FREE char *cubin = NULL, *log = NULL;
	size_t len;

	cubin = compile("sm_100a", &len, &log);
	check_flips(cubin, len, 2, 4000);
}

Test(elf, flipped_bits_never_crash_a_code_object)
{
	KB_AUTO_FREE char *data = NULL;
	size_t len;

	data = read_fixture("triton-3.9.0-hip", "*/add_kernel.hsaco", &len);
	check_flips(data, len, 3, 4000);
}
